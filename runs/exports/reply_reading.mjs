// Read a verdict out of a reply: `judges/reply_reading.py` of Judgewright in JavaScript, function by function.
// Both pass the same table of cases. Python's white space, words and lines are not JavaScript's, so they are spelled
// out here.

const MAX_REPLY = 1 << 20; // characters
const MAX_OBJECTS = 200; // opening braces at which an object is tried
const MAX_DEPTH = 900; // objects and lists in each other

const ENDS = {
  stop: ['', 'stop', 'stop_sequence', 'stop_sequences', 'eos', 'eos_token', 'endoftext', 'end_turn', 'end_of_turn',
    'complete', 'completed', 'done', 'finish', 'finished'],
  length: ['length', 'max_tokens', 'max_output_tokens', 'max_length', 'model_length'],
  content_filter: ['content_filter', 'content_filtered', 'safety', 'recitation', 'blocklist', 'prohibited_content',
    'spii', 'refusal', 'sensitive', 'error_toxic'],
  tool_calls: ['tool_calls', 'tool_call', 'tool_use', 'function_call'],
};
const FINISHES = new Map(Object.entries(ENDS).flatMap(([end, words]) => words.map((word) => [word, end])));

const S = '\\t-\\r\\x1c-\\x20\\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000';
const W = '[\\p{L}\\p{N}_]';
const EDGE = `(?:(?<=${W})(?!${W})|(?<!${W})(?=${W}))`;
const MARK = `${S}"'*_\`\\[\\](){}\u201c\u201d\u2018\u2019\u00ab\u00bb`;
const NUMBER = () =>
  `-?(?:${atomic('[0-9]{1,9}')}${atomic('(?:\\.[0-9]{1,9}|,[0-9]{1,2}(?![0-9]))?')}|\\.${atomic('[0-9]{1,9}')})`;
// Vowels with accents, then n with a tilde and c with a cedilla.
const ACCENTED = '\u00e1\u00e0\u00e2\u00e9\u00e8\u00ea\u00eb\u00ed\u00ec\u00ee\u00ef\u00f3\u00f2\u00f4\u00fa\u00f9\u00fb\u00f1\u00e7';
const ACCENTS = new Map([...ACCENTED].map((letter, at) => [letter, 'aaaeeeeiiiiooouuunc'[at]]));
const withoutAccents = (text) => [...text].map((letter) => ACCENTS.get(letter) ?? letter).join('');
const SCORE_WORDS = ['score', 'grade', 'rating', 'verdict', 'label', 'answer'];
const ONE = ['yes', 'true', '1', 'positive'];
const ZERO = ['no', 'false', '0', 'negative'];

let names = 0;

/** Write a pattern that gives nothing back once it has matched. */
function atomic(pattern) {
  names += 1;
  return `(?=(?<kept${names}>${pattern}))\\k<kept${names}>`;
}

const marks = () => atomic(`[${MARK}]{0,40}`);
/** A word and a colon before the verdict on its line. */
const KEY = () =>
  `(?:(?![^\\n:]{0,40}(?:confidence|konfidenz))${atomic('[#>+ \\t\\-]{0,8}')}${marks()}` +
  `[\\p{L}\\p{Nl}\\p{No}](?:[\\p{L}\\p{N}_ ]{0,40}${marks()}[:\uff1a=]|[\\p{L}\\p{N}_]{0,20}` +
  `(?:[ \\t][\\p{L}\\p{N}_]{1,20})?${marks()}(?:[\\-=]>|\u2192|[ \\t][\u2013\u2014\\-][ \\t])))?`;
const NAMED = '(?:(?:level|grade|score|rating|stufe|note|nota|points?|punkte|marks?)[ \\t]{1,3})?';
const UNIT = () => atomic('(?:[ \\t]{0,3}(?:stars?|points?|marks?|sterne?|punkte?|estrellas?|\u2605{1,9}))?');
/** What Chinese, Japanese and Korean write after a number of points, without a blank. */
const COUNTED = () => atomic(`(?:[\u5206\u70b9\uc810](?!${W}))?`);
const regex = (pattern, flags = 'iu') => new RegExp(pattern, flags);
const escaped = (text) => text.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&');
const strip = (text, set = S) => text.replace(regex(`^[${set}]+`, 'u'), '').replace(regex(`[${set}]+$`, 'u'), '');
const words = (text) => text.split(regex(`[${S}]+`, 'u')).filter(Boolean);
const folded = (text) => text.toUpperCase().toLowerCase();

export class Unreadable extends Error {
  constructor(message, reason = 'parse') {
    super(message);
    this.reason = reason;
  }
}

/** What a reply says that ended as the endpoint says: { score, parser, rationale }; throws Unreadable. */
export function readReply(text, form, finishReason = '', refusal = null) {
  const word = strip(finishReason).toLowerCase();
  const ending = FINISHES.get(word) ?? word;
  if (refusal || ending === 'content_filter') {
    throw new Unreadable(refusal || 'content filter', 'refused');
  }
  if (ending === 'length') {
    throw new Unreadable('the reply was cut off at its limit of tokens', 'truncated');
  }
  if (ending === 'tool_calls') {
    throw new Unreadable('the reply calls a tool instead of answering in its text; none was offered');
  }
  if (ending !== 'stop') {
    throw new Unreadable(`the reply ended by '${ending}', which does not say that it is whole`, 'endpoint');
  }
  return readText(text ?? '', form);
}

export function readText(whole, asked) {
  if (whole.length > MAX_REPLY && [...whole].length > MAX_REPLY) {
    throw new Unreadable('a reply of more than a million characters is not read');
  }
  const text = withoutThinking(whole);
  const form = withMarkedField(text, asked);
  const objects = findObjects(text, form.scores);
  const unsure = objects.cut || (objects.broken && form.json);
  let reading = null;
  if (objects.body && !unsure) {
    reading = readObject(objects.body, form);
  }
  const inProse = !objects.body && !objects.some;
  if (inProse && !(form.json && /[{}]/.test(text))) {
    reading = readProse(text, form);
  }
  if (!reading) {
    throw new Unreadable(`no verdict in ${JSON.stringify(text.slice(0, 120))}`);
  }
  const { score } = reading;
  if (!(form.low <= score && score <= form.high) || (form.kind !== 'probability' && !Number.isInteger(score))) {
    throw new Unreadable(`score ${score} is outside ${form.low}..${form.high}`);
  }
  return form.low_is_good ? { ...reading, score: turned(score) } : reading;
}

/** 1 minus a number, to twelve places, so that 1 minus the result is the number again. */
const turned = (number) => Math.floor((1 - number) * 1e12 + 0.5) / 1e12;

/** A form in prose with a field named as its mark, where an object is all of the reply. */
function withMarkedField(text, form) {
  const named = form.before.match(/[\p{L}\p{Nl}\p{No}][\p{L}\p{N}_]*/gu);
  if (form.json || !named || !/^(?:```[a-z]*[ \r\n]*)?\{[\s\S]*\}(?:[ \r\n]*```)?$/.test(text)) {
    return form;
  }
  const name = named.join('_');
  return { ...form, scores: [name, name.toLowerCase(), ...form.scores] };
}

function withoutThinking(text) {
  let at = 0;
  const tag = /<\/?think(?:ing)?>/i.exec(text);
  if (tag && tag[0][1] === '/' && count(text.slice(0, tag.index), '{') === count(text.slice(0, tag.index), '}')) {
    at = tag.index + tag[0].length;
  }
  for (;;) {
    const opened = regex(`^[${S}]*<think(?:ing)?>`).exec(text.slice(at));
    if (!opened) {
      return strip(text.slice(at));
    }
    const inner = at + opened[0].length;
    const closed = /<\/think(?:ing)?>/i.exec(text.slice(inner));
    if (!closed) {
      return '';
    }
    at = inner + closed.index + closed[0].length;
  }
}

const count = (text, letter) => text.split(letter).length - 1;

function findObjects(text, scores) {
  const opened = (start, end) => count(text.slice(start, end), '{') - count(text.slice(start, end), '}');
  const found = { body: null, some: false, broken: false, cut: false };
  let [depth, at] = [0, 0];
  for (let tried = 0; tried < MAX_OBJECTS; tried += 1) {
    const start = text.indexOf('{', at);
    if (start < 0) {
      return found;
    }
    depth = Math.max(0, depth + opened(at, start));
    const parsed = new Json(text.slice(start)).parse();
    if (parsed.tooDeep) {
      return { ...found, cut: true };
    }
    at = start + parsed.length;
    if (parsed.failed) {
      depth = Math.max(0, depth + opened(start, at));
    }
    if (parsed.failed || parsed.constant || depth) {
      found.broken = true;
      continue;
    }
    found.some = true;
    const body = parsed.value;
    for (const name of scores) {
      const inner = name.includes('.') && !body.has(name) ? nested(body, name) : null;
      if (inner !== null) {
        body.set(name, inner);
      }
    }
    if (scores.some((name) => body.has(name))) {
      [found.body, found.broken] = [body, false];
    }
  }
  return { ...found, cut: text.indexOf('{', at) >= 0 };
}

/** JSON as Python's decoder reads it: control characters in strings, NaN told, and where it failed. */
class Json {
  constructor(text) {
    this.text = text;
    this.at = 0;
    this.constant = false;
  }

  parse() {
    try {
      const value = this.value(0);
      return { value, length: this.at, constant: this.constant };
    } catch (problem) {
      if (problem instanceof Failed) {
        return problem.tooDeep ? { tooDeep: true } : { failed: true, length: Math.max(1, problem.at) };
      }
      throw problem;
    }
  }

  space() {
    while (' \t\n\r'.includes(this.text[this.at] ?? 'x')) {
      this.at += 1;
    }
  }

  value(depth) {
    if (depth > MAX_DEPTH) {
      throw new Failed(this.at, true);
    }
    const letter = this.text[this.at];
    if (letter === '{') {
      return this.object(depth);
    }
    if (letter === '[') {
      return this.list(depth);
    }
    if (letter === '"') {
      return this.string();
    }
    for (const [word, value] of [['null', null], ['true', true], ['false', false]]) {
      if (this.text.startsWith(word, this.at)) {
        this.at += word.length;
        return value;
      }
    }
    const number = /-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?/y;
    number.lastIndex = this.at;
    const match = number.exec(this.text);
    if (match) {
      this.at += match[0].length;
      return Number(match[0]);
    }
    for (const word of ['NaN', 'Infinity', '-Infinity']) {
      if (this.text.startsWith(word, this.at)) {
        this.at += word.length;
        this.constant = true;
        return null;
      }
    }
    throw new Failed(this.at);
  }

  object(depth) {
    const pairs = [];
    this.at += 1;
    this.space();
    if (this.text[this.at] === '}') {
      this.at += 1;
      return withDoubles(pairs);
    }
    for (;;) {
      if (this.text[this.at] !== '"') {
        throw new Failed(this.at);
      }
      const name = this.string();
      this.space();
      this.expect(':');
      this.space();
      pairs.push([name, this.value(depth + 1)]);
      this.space();
      if (this.text[this.at] === '}') {
        this.at += 1;
        return withDoubles(pairs);
      }
      this.expect(',');
      this.space();
    }
  }

  list(depth) {
    const values = [];
    this.at += 1;
    this.space();
    if (this.text[this.at] === ']') {
      this.at += 1;
      return values;
    }
    for (;;) {
      values.push(this.value(depth + 1));
      this.space();
      if (this.text[this.at] === ']') {
        this.at += 1;
        return values;
      }
      this.expect(',');
      this.space();
    }
  }

  expect(letter) {
    if (this.text[this.at] !== letter) {
      throw new Failed(this.at);
    }
    this.at += 1;
  }

  string() {
    const plain = { '"': '"', '\\': '\\', '/': '/', b: '\b', f: '\f', n: '\n', r: '\r', t: '\t' };
    const begin = this.at;
    let value = '';
    for (let at = begin + 1; ; at += 1) {
      const letter = this.text[at];
      if (letter === undefined || (letter === '\\' && at + 1 >= this.text.length)) {
        throw new Failed(begin);
      }
      if (letter === '"') {
        this.at = at + 1;
        return value;
      }
      if (letter !== '\\') {
        value += letter;
        continue;
      }
      at += 1;
      const escape = this.text[at];
      const code = this.text.slice(at + 1, at + 5);
      if (escape === 'u') {
        if (!/^[0-9a-fA-F]{4}$/.test(code)) {
          throw new Failed(at);
        }
        value += String.fromCharCode(Number.parseInt(code, 16));
        at += 4;
      } else if (Object.hasOwn(plain, escape)) {
        value += plain[escape];
      } else {
        throw new Failed(at - 1);
      }
    }
  }
}

class Failed extends Error {
  constructor(at, tooDeep = false) {
    super('no JSON');
    this.at = at;
    this.tooDeep = tooDeep;
  }
}

/** The values of a field that stands more than once in an object, with different values. */
class Twice {}

function withDoubles(pairs) {
  const body = new Map(pairs);
  for (const [name, value] of pairs) {
    if (!same(value, body.get(name))) {
      body.set(name, new Twice());
    }
  }
  return body;
}

function same(one, other) {
  if (one instanceof Map && other instanceof Map) {
    return one.size === other.size && [...one].every(([name, value]) => other.has(name) && same(value, other.get(name)));
  }
  if (Array.isArray(one) && Array.isArray(other)) {
    return one.length === other.length && one.every((value, at) => same(value, other[at]));
  }
  return one === other;
}

function nested(body, path) {
  return path.split('.').reduce((inner, name) => (inner instanceof Map ? inner.get(name) ?? null : null), body);
}

function readObject(body, form) {
  const name = form.scores.find((one) => body.has(one));
  if (body.get(name) instanceof Twice) {
    throw new Unreadable(`the field '${name}' stands more than once in the reply, with different values`);
  }
  const score = gradeOf(form, body.get(name));
  const texts = form.texts.map((field) => (body.has(field) ? body.get(field) : nested(body, field)));
  const rationale = texts.filter((text) => typeof text === 'string').join('\n');
  return score === null ? null : { score, parser: 'json', rationale };
}

const LINES = /\r\n|[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]/;

function splitLines(text) {
  const lines = text.split(LINES);
  return lines.at(-1) === '' ? lines.slice(0, -1) : lines;
}

function readProse(whole, form) {
  let text = whole;
  const lines = splitLines(text);
  if (text.startsWith('```') && lines.length > 2 && strip(lines.at(-1)) === '```') {
    text = strip(lines.slice(1, -1).join('\n'));
  }
  text = text.replace(/\r\n?/g, '\n');
  const patterns = patternsOf(form);
  if (form.mark) {
    const written = marked(form, patterns, text);
    if (written !== null) {
      const score = written ? gradeOf(form, written) : null;
      return score === null ? null : { score, parser: 'mark', rationale: text };
    }
  }
  const line = last(patterns.line, text);
  const sentence = line ? null : last(SENTENCE, text);
  let [written, parser] = [null, 'whole'];
  if (line) {
    [written, parser] = [valueAfter(patterns, text, line.index + line[0].length), 'last'];
  } else if (sentence) {
    [written, parser] = [valueAfter(patterns, text, sentence.index + sentence[0].length), 'sentence'];
  } else {
    written = valueAt(patterns.only, text);
    if (written === null) {
      const ending = text.split('\n').at(-1);
      [written, parser] = [closing(patterns, ending, form.labels.length > 0), 'last'];
      if (written === null && worded(form)) {
        written = afterArrow(patterns, ending);
      }
    }
  }
  const score = written === null ? null : gradeOf(form, written);
  return score === null ? null : { score, parser, rationale: text };
}

const made = new WeakMap();

/** The patterns of a form of reply, made once. */
function patternsOf(form) {
  if (!made.has(form)) {
    const start = `^[${MARK}]{0,40}`;
    const [before, after] = [form.before, form.after].map(withAnyBlanks);
    const apart = /^[\p{L}\p{N}]/u.test(form.before) ? `(?<!${W})` : '';
    const closed = after ? `[${MARK}.]{0,40}?${after}` : '';
    made.set(form, {
      line: linePattern(form),
      first: regex(start + valuePattern(form)),
      only: regex(`${start}${valuePattern(form)}${UNIT()}${marks()}\\.?${marks()}$`),
      opening: regex(`${start}${valuePattern(form)}(?=${marks()}(?:[.,;:!\u2013\u2014\\-]|$))`),
      // "PASS, because ...", "c) The text says so."
      spoken: regex(
        start + valuePattern(form) + (worded(form) ? `(?=${marks()}[,;:\u2013\u2014\\-])` : '(?=\\)(?!.{0,400}(?<!\\w)\\w\\)))'),
      ),
      keyed: regex(`^${KEY()}[${MARK}]{0,40}${NAMED}${valuePattern(form)}${UNIT()}${marks()}\\.?${marks()}$`),
      mark: before && regex(apart + before, 'giu'),
      marked: regex(start + valuePattern(form) + closed),
    });
  }
  return made.get(form);
}

/** Whether all labels are words of at least two letters, which a sentence or a list does not open with by chance. */
function worded(form) {
  return form.labels.length > 0 && form.labels.every((label) => /^[\p{L}\p{Nl}\p{No}]{2}/u.test(label));
}

/** Write one side of a mark as a pattern; there may be a blank before its colon, as in French. */
function withAnyBlanks(mark) {
  const pattern = words(mark.replace(regex(`[${S}]*[:=]$`, 'u'), '')).map(escaped).join(`[${S}]+`);
  const sign = { ':': '[:\uff1a]', '=': '=' }[mark.at(-1)];
  return sign ? `${pattern}[${S}]*${sign}` : pattern;
}

const ARROW = '[\\-=]>|[\u2192\u21d2]';
const LAST_SENTENCE = regex(`[.!?:;\u2013\u2014](?=[${S}])|${ARROW}|[${S}]-(?=[${S}])`, 'u');

function marked(form, patterns, text) {
  if (form.mark !== 'between') {
    if (last(patterns.line, text)) {
      return null; // a line with the name of a verdict says more than its place
    }
    const lines = splitLines(strip(text));
    if (!lines.length) {
      return null;
    }
    const begun = form.mark === 'start' ? valueAt(patterns.first, lines[0]) ?? valueAt(patterns.opening, lines.at(-1)) : null;
    const alone = form.mark === 'last line' && lines.length === 1 && form.labels.length ? valueAt(patterns.spoken, lines[0]) : null;
    const keyed = begun ?? alone ?? valueAt(patterns.keyed, lines.at(-1));
    // the last sentence of the last line is nothing but a label
    const ending = lines.at(-1).replace(regex(`[${S}]+$`, 'u'), '').split(LAST_SENTENCE).at(-1);
    const closed = keyed ?? (worded(form) ? valueAt(patterns.only, ending) : null);
    // a first line that is nothing but the value
    const first = lines.length > 1 && !strip(lines[1]) ? valueAt(patterns.only, lines[0]) : null;
    return closed ?? first;
  }
  const mark = last(patterns.mark, text);
  if (mark === null) {
    return null;
  }
  const rest = text.slice(mark.index + mark[0].length);
  const pointed = worded(form) && !form.after ? afterArrow(patterns, rest.split('\n', 1)[0]) : null;
  return valueAt(patterns.marked, rest) ?? pointed ?? '';
}


/** The value that ends a line after an arrow, as in `reason -> PASS`. */
function afterArrow(patterns, line) {
  const pieces = line.split(regex(ARROW, 'u'));
  return pieces.length < 2 ? null : valueAt(patterns.only, strip(pieces.at(-1)));
}

/** The value that the last line is, perhaps after a name; a number without a name or a unit may count anything. */
function closing(patterns, line, bare) {
  const value = valueAt(patterns.keyed, line);
  if (value !== null && words(line.slice(0, line.lastIndexOf(value))).length > 3) {
    return null; // a sentence, which may be on anything
  }
  return value !== null && (bare || /[\p{L}\p{Nl}\p{No}/\uff0f\u2605]/u.test(line)) ? value : null;
}

const last = (pattern, text) => [...text.matchAll(pattern)].at(-1) ?? null;
const valueAt = (pattern, text) => pattern.exec(text)?.groups.value ?? null;

function linePattern(form) {
  const taken = [...form.texts, ...form.confidences];
  const all = new Set([...form.scores, ...SCORE_WORDS.filter((word) => !taken.includes(word))]);
  const named = [...all].sort((one, other) => other.length - one.length).map((word) => escaped(word).replaceAll('_', '[ _]'));
  const head =
    `(?:^|(?<=\\n))${atomic('[ \\t>*_#`"\'\u201c\u2018\u00ab|\u2022(\\[+\\-]{0,40}')}(?:[0-9]{1,2}[.)]${atomic('[ \\t*_]{0,8}')})?` +
    `(?:(?:the|my)${atomic('[ \\t*_]{1,8}')})?(?:(?:final|overall)${atomic('[ \\t*_]{1,8}')})?`;
  return regex(`${head}(?:${named.join('|')})${atomic('[ \\t"\'*_`\\])\u201d\u2019\u00bb]{0,40}')}[:=\uff1a]`, 'giu');
}

const GAP = `[${S}*_]{1,8}`;
const SENTENCE = regex(
  `(?<!${W})(?:the|my|final|overall)${atomic(GAP)}(?:score|grade|rating|verdict)${atomic(GAP)}is(?!${W}):?`,
  'giu',
);

function valueAfter(patterns, text, at) {
  const rest = text.slice(at).split('\n', 1)[0];
  if (!strip(rest, ' \\t*_`')) {
    const next = text.slice(at + rest.length).replace(regex(`^[${S}]+`, 'u'), '');
    return valueAt(patterns.only, next.split('\n', 1)[0]);
  }
  return valueAt(patterns.first, words(rest).join(' '));
}

const PERCENT = `(?:[%\uff05]|per[${S}]?cent${EDGE})`;

function valuePattern(form) {
  const labels = form.kind === 'probability' ? [] : form.labels.map((label) => words(label).join(' '));
  const usual = form.kind === 'binary' ? ['yes', 'no', 'true', 'false', '1', '0'] : [];
  const all = [...new Set([...labels, ...labels.map(withoutAccents), ...usual])].sort((one, other) => other.length - one.length);
  const value = all.map(escaped).join('|') || NUMBER();
  const end =
    `(?!_{0,8}[\\p{L}\\p{N}]|[\\-+>=&^~\u00b0]|<(?!/?[a-z])|\\.[0-9]` +
    `|${marks()}(?:[?\uff1f/\uff0f\u2026\u2192]|\\\\?[%\u2030\uff05]|\\.\\.|[\\-=]>|[\\-\u2013\u2014\u2212~]{1,3}[${S}]?[0-9]|[,;][${S}]?[0-9]` +
    `|[,;]?[${S}]?(?:to|or)${EDGE}|(?:of|out[${S}]of|through|until|versus|vs|per[${S}]?cent)${EDGE}` +
    `|(?:and[${S}]|[|][${S}]?)(?:a[${S}]half|${all.map(escaped).join('|') || NUMBER()})${EDGE}))`;
  const percent = ofHundred(form) ? atomic(`(?:[${S}]?${PERCENT})?`) : '';
  if (all.length) {
    const alone = `(?![${S}](?!(?:because|since|as)${EDGE})[\\p{L}\\p{Nl}\\p{No}])`;
    const phrase = (word) => word.toLowerCase() === 'no' || ([...word].length === 1 && /^\p{L}$/u.test(word));
    const numbers = labels.filter((label) => regex(`^${NUMBER()}$`, 'u').test(label));
    const highest = numbers.toSorted((one, other) => Number(other.replace(',', '.')) - Number(one.replace(',', '.')))[0];
    const top = labels.length && numbers.length === labels.length ? atomic(`(?:[${S}]?/[${S}]?${escaped(highest)})?`) : '';
    return `(?<value>${all.map((word) => howeverApart(word) + (phrase(word) ? alone : '')).join('|')})${percent}${top}${end}`;
  }
  const top = `${marks()}(?:[/\uff0f]|(?:out[${S}])?of${EDGE})${marks()}${form.high}${COUNTED()}`;
  return `(?<value>${value})${percent}${COUNTED()}(?:${top}${end}|${renamed(end)})`;
}

/** Whether its grades go from 0 to 100, or from 100 to 0, so that a percent sign may stand after one. */
function ofHundred({ low, high, labels }) {
  if (!labels.length) {
    return low === 0 && high === 100;
  }
  return ['0', '100'].every((end) => labels.includes(end)) && labels.every((label) => /^(?:[0-9]{1,2}|100)$/.test(label));
}

/** Write a pattern again whose groups have other names. */
function renamed(pattern) {
  names += 1;
  return pattern.replaceAll('<kept', `<kept${names}x`);
}

/** A label whose parts stand together, apart, or with a hyphen: SEV2, SEV 2; not_met, not met. */
function howeverApart(word) {
  const pieces = word.split(/[ _-]|(?<=[\p{L}\p{Nl}\p{No}])(?=[0-9])/u);
  return pieces.every(Boolean) ? pieces.map(escaped).join('[ _\\-]?') : escaped(word);
}

const together = (label) => label.replace(/[ _-]/g, '');

/** The place of a label that says the same as yes or no; without one yes is 1. */
function plainPlace(yes, labels) {
  const place = labels.findIndex((label) => (yes ? ONE : ZERO).includes(label.toLowerCase()));
  return place < 0 ? Number(yes) : place;
}

function gradeOf(form, value) {
  const { kind, labels } = form;
  if (typeof value === 'string') {
    const word = ofHundred(form) ? strip(value).replace(regex(`[${S}]?${PERCENT}$`, 'iu'), '') : strip(value);
    const places = labels.flatMap((label, at) => (folded(label) === folded(word) ? [at] : []));
    if (places.length === 1) {
      return places[0];
    }
    if (labels.includes(word)) {
      return labels.indexOf(word);
    }
    const bare = labels.flatMap((label, at) => (withoutAccents(folded(label)) === folded(word) ? [at] : []));
    if (bare.length === 1) {
      return bare[0];
    }
    const joined = labels.flatMap((label, at) => (together(folded(label)) === together(folded(word)) ? [at] : []));
    if (joined.length === 1 && together(word)) {
      return joined[0];
    }
    if (kind === 'choice' || (kind === 'graded' && labels.length)) {
      return null;
    }
    if (kind === 'binary') {
      const plain = word.toLowerCase();
      return ONE.includes(plain) || ZERO.includes(plain) ? plainPlace(ONE.includes(plain), labels) : null;
    }
    return regex(`^${NUMBER()}$`, 'u').test(word) ? Number(word.replace(',', '.')) : null;
  }
  if (typeof value === 'boolean') {
    return kind === 'binary' ? plainPlace(value, labels) : null;
  }
  if (kind === 'binary' && labels.length && (value === 0 || value === 1)) {
    return plainPlace(value === 1, labels);
  }
  if (typeof value === 'number' && Number.isFinite(value) && kind !== 'choice') {
    if (kind === 'graded' && labels.length) {
      const place = labels.indexOf(String(Number(value.toPrecision(6))));
      return place < 0 ? null : place;
    }
    return value;
  }
  return null;
}
