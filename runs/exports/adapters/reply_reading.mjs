// Read a verdict out of a reply: `judges/reply_reading.py` of Judgewright in JavaScript, function by function.
// Both pass the same table of cases. Python's white space and words are not JavaScript's, so they are spelled out here.

const MAX_REPLY = 1 << 20; // characters
const MAX_OBJECTS = 200; // opening braces at which an object is tried
const MAX_DEPTH = 900; // objects and lists in each other
const MAX_REPAIR = 1 << 15; // characters
const MAX_REPAIRS = 20; // broken objects

const ENDINGS = {
  stop:
    'null none stop stopped stopsequence stopsequences stopword eos eostoken endoftext endturn endofturn ' +
    'endofsequence end complete completed done finish finished success',
  length:
    'length maxtokens maxoutputtokens maxlength modellength maxnewtokens contextlength modelcontextwindowexceeded ' +
    'tokenlimit maxcompletiontokens',
  content_filter:
    'contentfilter contentfiltered safety recitation blocklist prohibitedcontent spii refusal sensitive errortoxic ' +
    'guardrailintervened guardrail moderation flagged blocked',
  tool_calls: 'toolcalls toolcall tooluse functioncall',
};
const FINISHES = new Map([['', 'stop']]);
for (const [end, words] of Object.entries(ENDINGS)) {
  words.split(' ').forEach((word) => FINISHES.set(word, end));
}
const ENUM = /^(?:.*[.:]|(?:finish|stop)_?reason_(?=.))/;

const S = '[\\t-\\r\\x1c-\\x20\\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000]'; // \s
const W = '[\\p{L}\\p{N}_]'; // \w
const LETTER = '[\\p{L}\\p{Nl}\\p{No}]';
const BLANKS = ' \\t\\r\\n\\f\\v\\u00a0\\u3000\\ufeff';
const PICTURES = '\\u2600-\\u2604\\u2607-\\u27bf\\ufe0f\\u{1f300}-\\u{1faff}';
const MARKS = `[${S.slice(1, -1)}"'*_\`\\[\\](){}\u201c\u201d\u2018\u2019\u00ab\u00bb${PICTURES}]{0,40}`;
const NUMBER = '-?(?:[0-9]{1,9}(?:\\.[0-9]{1,9}|,[0-9]{1,2}(?![0-9]))?|\\.[0-9]{1,9})';
const KEY =
  `(?![^\\n:]{0,40}confidence)[#>+ \\t\\-]{0,8}${MARKS}${LETTER}[\\p{L}\\p{N}_ ]{0,40}` +
  `(?:[(\\[][^()\\[\\]\\n]{0,40}[)\\]])?${MARKS}[:\uff1a=]`;
const BEGINS_REASON = `${MARKS}(?:[.,;:\u2013\u2014(\\[\\-]|$)|[ \\t]{0,9}[(\\[]`;
const THOUGHTS =
  '(?:[a-z]{1,12}[:_\\-]){0,2}(?:think(?:ing)?|thoughts?|reason(?:ing)?|reflection|scratch_?pad|analysis|monologue|cot)' +
  '(?:[_\\-][a-z]{1,12})? ?';
const OPENS_THOUGHT =
  `<\\|channel\\|?>(?:analysis|commentary|thought)(?:<\\|message\\|>)?|[<\u25c1\\[]${THOUGHTS}[>\u25b7\\]]` +
  `|<\\|(?:(?:start|begin)_(?:of_)?)?${THOUGHTS}\\|>`;
const ENDS_THOUGHT =
  `[<\u25c1\\[]/${THOUGHTS}[>\u25b7\\]]|<\\|(?:/|end_(?:of_)?)${THOUGHTS}\\|>|<channel\\|>|assistantfinal` +
  '|<\\|channel\\|>final<\\|message\\|>|<\\|(?:start|begin)_(?:of_)?(?:response|text|solution|answer|box)\\|>';
const ENDS_TURN =
  '</?s>|<[|\uff5c][a-z0-9_\u2581 :/\\-]{1,40}[|\uff5c]?>|<[a-z0-9_\u2581]{1,40}[|\uff5c]>' +
  '|\\[\\|/?[a-z0-9_]{2,20}\\|\\]|\\[/?INST\\]|<</?SYS>>|<(?:end|start)_of_[a-z]{2,12}>' +
  '|<(?:[a-z]{1,8}:)?[be]o[stmahd]>|<(?:reserved|unused|extra_id|special)_?[0-9]{1,4}>';
const THOUGHT = new RegExp(ENDS_THOUGHT, 'iug');
const TAG = new RegExp(`${OPENS_THOUGHT}|(?<ends>${ENDS_THOUGHT})`, 'iu');
const OPENING = new RegExp(
  `[ \\t\\r\\n]*(?:(?<thought>${OPENS_THOUGHT})|(?:${ENDS_TURN})(?:assistant|model|(?<other>user|human|system))?)`,
  'iuy',
);
const TURN = new RegExp(`(?<struck><s>[^<\\n]{1,200}</s>)|${ENDS_TURN}`, 'iug');
const ASKER = '(?:human|q|question|user|customer|instructions?|input|prompt|system)';
const ANSWERER = '(?:assistant|model|ai|response|output)';
const ONE = ['yes', 'true', '1', 'positive'];
const ZERO = ['no', 'false', '0', 'negative'];
const TWICE = Symbol('a field with two different values');
const TWO_VERDICTS = 'the reply has two verdicts that differ, and nothing says which of them counts';

const escaped = (text) => text.replace(/[\\^$.*+?()[\]{}|/-]/g, (sign) => (sign === '-' ? '\\x2d' : `\\${sign}`));
const strip = (text, signs = BLANKS) => text.replace(new RegExp(`^[${signs}]+|[${signs}]+$`, 'gu'), '');
const count = (text, letter) => text.split(letter).length - 1;
const firstLine = (text) => text.split('\n', 1)[0];
const lastLine = (text) => text.slice(text.lastIndexOf('\n') + 1);
const last = (pattern, text) => [...text.matchAll(new RegExp(pattern, 'giu'))].at(-1);

export class Unreadable extends Error {
  constructor(message, reason = 'parse') {
    super(message);
    this.reason = reason;
  }
}

/** What a reply says that ended as the endpoint says: { score, parser, rationale }; throws Unreadable. */
export function readReply(text, form, finishReason = '', refusal = null) {
  const word = strip(finishReason).toLowerCase();
  const ending = FINISHES.get(word.replace(ENUM, '').replace(/[^a-z]/g, '')) ?? word.slice(0, 40);
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

export function readText(whole, form) {
  if (whole.length > MAX_REPLY && [...whole].length > MAX_REPLY) {
    throw new Unreadable('a reply of more than a million characters is not read');
  }
  const text = withoutThinking(whole);
  const read = form.json ? readObjects : readProse;
  let reading = read(text, form, false);
  if (!reading && text.length <= MAX_REPAIR) {
    reading = read(text, form, true);
    reading = reading && { ...reading, parser: 'repaired' };
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

/** Drop the thinking that a reply opens with; all of it where it never ends. */
function withoutThinking(text) {
  let at = 0;
  const tag = TAG.exec(text);
  const before = text.slice(0, tag?.index);
  if (tag?.groups.ends && count(before, '{') === count(before, '}')) {
    at = before.length + tag[0].length;
  }
  for (;;) {
    OPENING.lastIndex = at;
    const opened = OPENING.exec(text);
    if (!opened) {
      return strip(text.slice(at));
    }
    at = OPENING.lastIndex;
    THOUGHT.lastIndex = at;
    if (opened.groups.other || (opened.groups.thought && !THOUGHT.exec(text))) {
      return '';
    }
    at = opened.groups.thought ? THOUGHT.lastIndex : at;
  }
}

/** All matches of a pattern from a place on, which may look at what stands before it. */
function from(pattern, text, at) {
  pattern.lastIndex = at;
  return [...text.matchAll(pattern)];
}

/** Where a chat template ends the turn, from a place of a reply on. */
const turnEnd = (text, at = 0) => from(TURN, text, at).find((mark) => !mark.groups.struck)?.index;

/** The pattern of a line that opens another turn: a head of the prompt, or a role. */
function headsPattern(form) {
  const ends = '[ \\t*\\r\\]>]{0,4}(?:[:\uff1a]|(?=\\n|$))';
  const own = form.heads.map((head) => `|${withAnyBlanks(head)}${head.startsWith('<') ? '' : ends}`);
  const named = `${ASKER}${ends}|(?<answerer>${ANSWERER}${ends})${own.join('')}`;
  return new RegExp(`(?<=[\\n}])[ \\t#*>\\[<\\-]{0,8}(?:${named})`, 'iug');
}

/** The verdict of the last top-level object that is as complete as any other. */
function readObjects(whole, form, loose) {
  const inside = loose && whole.startsWith('"') ? decode(`{"":${whole}}`, 0)?.value.get('') : null;
  const text = typeof inside === 'string' ? strip(inside) : whole; // all of the reply is JSON in a text
  const firstTurn = text.slice(0, turnEnd(text));
  if (loose && !/[{}]/.test(firstTurn)) {
    return readProse(firstTurn, form, true);
  }
  const field = form.field.split('.').at(-1).toLowerCase();
  const heads = headsPattern(form);
  let objects = [];
  let [turn, depth, at, repairs, tried, broken] = [0, 0, 0, 0, 0, false];
  for (; tried < MAX_OBJECTS; tried += 1) {
    const start = text.indexOf('{', at);
    const before = text.slice(0, start < 0 ? text.length : start);
    let over = turnEnd(before, at) !== undefined;
    if (objects.length || (broken && before.toLowerCase().includes(field))) {
      for (const head of from(heads, before, at)) {
        over ||= !head.groups.answerer;
        turn += 1;
      }
    }
    if (over || start < 0) {
      break;
    }
    depth = Math.max(0, depth - count(text.slice(at, start), '}'));
    let body = decode(text, start);
    if (!body && loose && repairs < MAX_REPAIRS) {
      repairs += 1;
      body = decodeNearly(text, start);
    }
    at = body ? body.end : start + 1;
    if (!body || depth) {
      broken = true;
      depth += body ? 0 : 1;
      continue;
    }
    const fields = askedFields(loose ? unwrapped(body.value, form) : body.value, form, loose);
    if (fields.has(form.field)) {
      objects.push([turn, fields]);
      broken &&= fields.size < Math.max(...objects.map(([, one]) => one.size));
    }
  }
  objects = tried === MAX_OBJECTS && text.includes('{', at) ? [] : objects;
  return broken || !objects.length ? null : choose(objects, form, loose);
}

/** The verdict of the last of the most complete objects, which come with their turns. */
function choose(objects, form, loose) {
  const most = Math.max(...objects.map(([, fields]) => fields.size));
  const complete = objects.filter(([, fields]) => fields.size === most);
  const [turn, fields] = complete.at(-1);
  const reading = readObject(fields, form, loose);
  for (const [, other] of turn !== objects[0][0] ? objects : loose ? complete : []) {
    if (!reading || readObject(other, form, loose)?.score !== reading.score) {
      throw new Unreadable(TWO_VERDICTS);
    }
  }
  return reading;
}

function readObject(fields, form, loose) {
  const value = fields.get(form.field);
  if (value === TWICE) {
    throw new Unreadable(`the field '${form.field}' stands more than once in the reply, with different values`);
  }
  const score = loose ? looseGrade(form, value) : gradeOf(form, value);
  const rationale = form.texts.map((name) => fields.get(name)).filter((text) => typeof text === 'string').join('\n');
  return score === null ? null : { score, parser: 'json', rationale };
}

const JSON_NUMBER = '-?(?:0|[1-9][0-9]*)(?:\\.[0-9]+)?(?:[eE][-+]?[0-9]+)?';
const TOKEN = new RegExp(
  '[ \\t\\n\\r]*(?:([{}\\[\\],:])|("[^"\\\\]*(?:\\\\(?:["\\\\/bfnrt]|u[0-9a-fA-F]{4})[^"\\\\]*)*")' +
    `|(null|true|false|${JSON_NUMBER}))`,
  'y',
);

/** The JSON object that starts at a brace, as Python's decoder reads it, and where it ends; null without one. */
function decode(text, start) {
  let at = start;
  const noJson = new SyntaxError('no JSON');
  const next = () => {
    TOKEN.lastIndex = at;
    const token = TOKEN.exec(text);
    if (!token) {
      throw noJson;
    }
    at = TOKEN.lastIndex;
    return token;
  };
  const string = (quoted) => JSON.parse(quoted.replace(/[\0-\x1f]/g, (sign) => JSON.stringify(sign).slice(1, -1)));
  const value = ([, sign, quoted, scalar], depth) => {
    if (quoted || scalar) {
      return quoted ? string(quoted) : JSON.parse(scalar);
    }
    if (!'{['.includes(sign) || depth > MAX_DEPTH) {
      throw noJson;
    }
    const members = [];
    for (let token = next(); token[1] !== (sign === '{' ? '}' : ']'); token = next()) {
      if (members.length) {
        if (token[1] !== ',') {
          throw noJson;
        }
        token = next();
      }
      if (sign === '[') {
        members.push(value(token, depth + 1));
      } else if (token[2] && next()[1] === ':') {
        members.push([string(token[2]), value(next(), depth + 1)]);
      } else {
        throw noJson;
      }
    }
    return sign === '{' ? withDoubles(members) : members;
  };
  try {
    return { value: value(next(), 0), end: at };
  } catch (problem) {
    if (problem === noJson) {
      return null;
    }
    throw problem;
  }
}

const ENDS_TEXT = '(?=[ \\t\\r\\n]{0,40}(?:[,:\uff1a\uff0c=}\\]]|//|/\\*|#|$)|[ \\t\\r]{0,40}\\n[ \\t\\r\\n]{0,40}["\'\u201c])';
const QUOTED = [['"', '"'], ["'", "'"], ['[\u201c\u201d\u201e]', '\u201c\u201d'], ['`', '`']].map(
  ([opening, closing]) => `${opening}((?:\\\\[^]|[^\\\\${closing}]|[${closing}](?!${ENDS_TEXT}))*)[${closing}]${ENDS_TEXT}`,
);
const NEARLY = new RegExp(
  `[ \\t\\r\\n]+|//[^\\n]*|#[^\\n]*|/\\*(?:[^*]|\\*(?!/))*\\*/|([{}\\[\\],:\uff1a\uff0c=])|${QUOTED.join('|')}` +
    '|((?:[^ \\t\\r\\n,:\uff1a\uff0c=\\[\\]{}"\'\u201c\u201d\u201e`/#]|/(?![/*]))(?:[^\\n,:\uff1a\uff0c\\[\\]{}"\u201c\u201d/#]|/(?![/*]))*)',
  'uy',
);
const ESCAPE = /\\(["\\/bfnrt]|u[0-9a-fA-F]{4})|\\'|[\\"]/gu;
const BARE = new Map([['true', 'true'], ['false', 'false'], ...['null', 'none', 'nan', 'undefined'].map((word) => [word, 'null'])]);
const SIGNS = new Map([['\uff1a', ':'], ['=', ':'], ['\uff0c', ',']]);

/** An object that is nearly JSON: comments, commas, quotes, escapes and bare words as people write them. */
function decodeNearly(text, start) {
  if (text.startsWith('{{', start)) {
    const inner = decodeNearly(text, start + 1);
    return inner && text.startsWith('}', inner.end) ? { value: inner.value, end: inner.end + 1 } : null;
  }
  const pieces = [];
  let [depth, at] = [0, start];
  for (;;) {
    NEARLY.lastIndex = at;
    const piece = NEARLY.exec(text);
    if (!piece) {
      break;
    }
    at = NEARLY.lastIndex;
    const [, written, ...rest] = piece;
    const bare = rest.pop();
    const sign = SIGNS.get(written) ?? written;
    const before = pieces.at(-1) ?? '';
    let value = sign;
    if (sign === '}' || sign === ']') {
      depth -= 1;
      if (before === ',') {
        pieces.pop();
      }
    } else if (sign === ',' && before === ',') {
      continue;
    } else if (sign !== ',' && sign !== ':') {
      value = sign ?? asJson(bare, rest.find((one) => one !== undefined));
      if (value === null) {
        if (bare) {
          return null;
        }
        continue;
      }
      if (before && !'{[,:'.includes(before)) {
        pieces.push(',');
      }
      depth += sign ? 1 : 0;
    }
    pieces.push(value);
    if (depth <= 0 || depth >= 50) {
      break;
    }
  }
  const body = decode(pieces.join(''), 0);
  return body && !depth ? { value: body.value, end: at } : null;
}

/** A bare word or a quoted text as JSON; null where it stands for something left out. */
function asJson(bare, quoted) {
  if (quoted !== undefined) {
    return `"${quoted.replace(ESCAPE, (whole, known) => (known ? whole : whole === "\\'" ? "'" : `\\${whole}`))}"`;
  }
  const word = (bare ?? '').replace(/[ \t\r]+$/, '').replace(/^\+/, '');
  if (!/[\p{L}\p{N}]/u.test(word)) {
    return null;
  }
  const number = new RegExp(`^${JSON_NUMBER}$`).test(word);
  return number ? word : BARE.get(word.toLowerCase()) ?? JSON.stringify(word);
}

/** The fields of an object that were asked for; loosely, however they are spelled. */
function askedFields(body, form, loose) {
  const fields = new Map();
  for (const name of [form.field, ...form.texts, ...form.confidences]) {
    let value = body;
    for (const part of body.has(name) ? [name] : name.split('.')) {
      if (loose && value instanceof Map) {
        value = withDoubles([...value].map(([key, inner]) => [plainName(key), inner]));
      }
      value = value instanceof Map ? value.get(loose ? plainName(part) : part) : undefined;
    }
    if (value !== undefined) {
      fields.set(name, value);
    }
  }
  return fields;
}

/** The object with the verdict inside up to three others, such as a call of a tool. */
function unwrapped(whole, form) {
  const asked = [form.field, ...form.texts, ...form.confidences];
  let body = whole;
  for (let wrappers = 0; wrappers < 3 && !askedFields(body, form, true).has(form.field); wrappers += 1) {
    const others = [...body].filter(([name]) => !asked.includes(name)).map(([, value]) => value);
    let inner = others.map((value) => (typeof value === 'string' && value.startsWith('{') ? decode(value, 0)?.value : value));
    inner = inner.filter((one) => one instanceof Map);
    if (body.size > 1) {
      inner = inner.filter((one) => asked.length > 1 && askedFields(one, form, false).size === asked.length);
    }
    if (inner.length !== 1) {
      break;
    }
    [body] = inner;
  }
  return body;
}

const PARTS = /(?<=[\p{L}\p{N}_])[ _-]+(?=[\p{L}\p{N}_])/gu;
const plainName = (name) => strip(name, ' \\t*').replace(PARTS, '').toLowerCase();

/** An object that keeps for every field that it holds twice that the two differ. */
function withDoubles(pairs) {
  const body = new Map(pairs);
  for (const [name, value] of body.size < pairs.length ? pairs : []) {
    if (!same(value, body.get(name))) {
      body.set(name, TWICE);
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

/** The verdict of a reply in prose; where a head of the prompt follows on one, the model has gone on by itself. */
function readProse(whole, form, loose) {
  const turn = strip(whole.slice(0, turnEnd(whole)).replaceAll('\r\n', '\n'));
  const text = strip(turn.replace(/^```json/, ''), `\`${BLANKS}`);
  if (loose && text.startsWith('{') && text.endsWith('}')) {
    const body = decodeNearly(text, 0);
    const score = body?.end === text.length ? onlyGrade(form, body.value) : null;
    return score === null ? null : { score, parser: 'mark', rationale: text };
  }
  for (const head of from(headsPattern(form), text, 0).slice(0, 8)) {
    const reading = readMark(strip(text.slice(0, head.index)), form, loose);
    if (reading) {
      const again = readMark(strip(text.slice(head.index + head[0].length)), form, loose);
      if (head.groups.answerer && again && again.score !== reading.score) {
        throw new Unreadable(TWO_VERDICTS);
      }
      return reading;
    }
  }
  return readMark(text, form, loose);
}

/** The verdict that stands at the judge's mark. */
function readMark(text, form, loose) {
  let written = valueAt(...markedPiece(text, form, loose), form);
  if (loose && written === null && form.mark === 'start') {
    written = valueAt('only', lastLine(text), form); // the reasons first
  }
  const score = written === null ? null : gradeOf(form, written);
  return score === null ? null : { score, parser: 'mark', rationale: text };
}

/** The place and the piece of text where the verdict has to stand. */
function markedPiece(text, form, loose) {
  const { mark, after } = form;
  if (mark === 'last word') {
    return ['end', lastLine(text)];
  }
  if (mark !== 'between') {
    return mark === 'start' ? [loose ? 'only' : 'first', firstLine(text)] : [loose ? 'only' : 'line', lastLine(text)];
  }
  const apart = /^[\p{L}\p{N}]/u.test(form.before) ? `(?<!${W})` : '';
  const opened = last(apart + withAnyBlanks(form.before), text) ?? (loose ? last(sloppy(form.before), text) : undefined);
  if (!opened) {
    return ['alone', loose ? (form.labels.length ? lastLine(text) : text) : ''];
  }
  const rest = text.slice(opened.index + opened[0].length);
  if (after) {
    const end = new RegExp(loose ? sloppy(after) : withAnyBlanks(after), 'iu').exec(rest)?.index;
    return [loose ? 'only' : 'alone', loose || end !== undefined ? rest.slice(0, end) : ''];
  }
  const line = firstLine(rest);
  if (strip(line, ' \\t*_`')) {
    return [loose ? 'only' : 'first', line];
  }
  return ['alone', firstLine(rest.slice(line.length).replace(new RegExp(`^[${BLANKS}]+`, 'u'), ''))];
}

const withPlainDigits = (text) => text.replace(/[\uff10-\uff19]/g, (digit) => String.fromCharCode(digit.charCodeAt(0) - 0xfee0));

/** The value at the start of a text: the first in it, alone, alone on a line after a key, or the only one; or at its end. */
function valueAt(place, written, form) {
  const value = valuePattern(form);
  const [first, end] = [MARKS + value, `${MARKS}\\.?${MARKS}$`];
  let pattern = { first, alone: first + end, line: `(?:${KEY})?${first}${end}`, end: `(?:.*(?<!${W}|-))?${first}${end}` }[place];
  let text = written;
  if (place === 'only') {
    text = withPlainDigits(text).replace(/<([^<>/\n]{1,20})>/gu, '$1');
    const again = value.replace('?<value>', '?:') + (form.labels.length ? '' : '|[0-9]');
    pattern = `(?:${KEY})?${first}(?=${BEGINS_REASON})(?![^]*?(?<!${W})(?:${again}))`;
  }
  return new RegExp(`^(?:${pattern})`, 'iu').exec(text)?.groups.value ?? null;
}

/** The pattern of a value that is not part of a word, number, range or choice. */
function valuePattern(form) {
  const labels = form.kind === 'probability' ? [] : form.labels;
  const plain = form.kind === 'binary' ? ['yes', 'no', 'true', 'false', '1', '0'] : [];
  const words = [...new Set([...labels, ...plain])].sort((one, other) => other.length - one.length);
  const parts = words.map((word) => {
    const part = word.split(/[ _-]/).map(escaped).join('[ _\\-]?');
    return word.length < 3 && /^\p{L}+$/u.test(word) ? `${part}(?!${S}${LETTER})` : part;
  });
  const value = parts.join('|') || NUMBER;
  const beside = parts.length ? `|(?:${value})(?!${W})` : '';
  const end =
    `(?!_{0,8}[\\p{L}\\p{N}]|[\\-+>=&^~\u00b0]|<(?!/?[a-z])|\\.[0-9]` +
    `|${MARKS}(?:[?\uff1f/\uff0f\u2026\u2192]|\\\\?[%\u2030\uff05]|\\.\\.|[\\-=]>|[\\-\u2013\u2014\u2212~]{1,3}${S}?[0-9]` +
    `|[,;]?${S}?(?:to|or|of|per${S}?cent|and${S}a${S}half)(?!${W})` +
    `|(?:[|,;]${S}?|[,;]?${S}?(?:${LETTER}{1,7}${S}){1,2})(?:[0-9]|(?:${value})(?!${W}))${beside}))`;
  const percent = ofHundred(form) ? `(?:${S}?(?:[%\uff05]|[/\uff0f]${S}?100))?` : '';
  if (parts.length) {
    return `(?<value>${value})${percent}${end}`;
  }
  const points = `(?:[\u5206\u70b9\uc810](?!${W}))?`;
  const top = `${MARKS}(?:[/\uff0f]|(?:out${S})?of(?!${W}))${MARKS}${form.high}${points}${end}`;
  return `(?<value>${value})${percent}${points}(?:${top}|${end})`;
}

/** Whether its grades end at 100, so that a percent sign may stand after one. */
const ofHundred = (form) => form.high === 100 || form.labels.includes('100');

/** The pattern of one side of a mark; as in French, its colon may stand apart. */
function withAnyBlanks(mark) {
  const sign = { ':': '[:\uff1a]', '\uff1a': '[:\uff1a]', '=': '=' }[mark.at(-1)];
  const words = strip(sign ? mark.slice(0, -1) : mark).split(/\s+/u);
  return words.map(escaped).join(`${S}+`) + (sign ? `${S}*${sign}` : '');
}

/** A mark in other brackets, or with the scale in brackets or another sign at its end. */
function sloppy(mark) {
  const name = withAnyBlanks(strip(mark, '\\[\\](){}<>*:\uff1a '));
  if (!name) {
    return withAnyBlanks(mark);
  }
  return /[:\uff1a]$/.test(mark)
    ? `${name}(?:${S}*[(\\[][^()\\[\\]\\n]{0,40}[)\\]])?(?:[ \\t*_]{0,9}[:\uff1a=\u2013\u2014\\-]|[\u3011\\]])`
    : `[\\[(<{*\u3010]{1,4}${name}[\\])>}*\u3011]{1,4}[:\uff1a]?`;
}

/** The place of a label that says the same as yes or no; without one yes is 1. */
function plainPlace(yes, labels) {
  const place = labels.findIndex((label) => (yes ? ONE : ZERO).includes(label.toLowerCase()));
  return place < 0 ? Number(yes) : place;
}

function gradeOf(form, value) {
  const { kind, labels } = form;
  if (typeof value === 'string') {
    return gradeOfWord(form, strip(value));
  }
  if (typeof value === 'boolean') {
    return kind === 'binary' ? plainPlace(value, labels) : null;
  }
  if (kind === 'choice' || typeof value !== 'number' || !Number.isFinite(value)) {
    return null;
  }
  if (kind === 'binary' && labels.length && (value === 0 || value === 1)) {
    return plainPlace(value === 1, labels);
  }
  if (kind === 'graded' && labels.length) {
    const place = labels.indexOf(String(Number(value.toPrecision(6))));
    return place < 0 ? null : place;
  }
  return value;
}

function gradeOfWord(form, whole) {
  const { kind, labels } = form;
  const word = ofHundred(form) ? whole.replace(new RegExp(`[%\uff05${BLANKS}]+$`, 'u'), '') : whole;
  const lower = word.toLowerCase();
  const spellings = [
    [labels.map((label) => label.toLowerCase()), lower],
    [labels, word],
    [labels.map(plainName), plainName(word)],
  ];
  for (const [names, name] of spellings) {
    const place = names.indexOf(name);
    if (name && place >= 0 && place === names.lastIndexOf(name)) {
      return place;
    }
  }
  if (kind === 'binary' && [...ONE, ...ZERO].includes(lower)) {
    return plainPlace(ONE.includes(lower), labels);
  }
  if (kind === 'binary' || kind === 'choice' || (kind === 'graded' && labels.length)) {
    return null;
  }
  return new RegExp(`^${NUMBER}$`, 'u').test(word) ? Number(word.replace(',', '.')) : null;
}

/** The grade of a value that is nearly one: "0/3", "4 (Mostly)", [3]. */
function looseGrade(form, value) {
  if (typeof value === 'string') {
    return gradeOf(form, valueAt('only', strip(value), form) ?? value);
  }
  return value instanceof Map || Array.isArray(value) ? onlyGrade(form, value) : gradeOf(form, value);
}

/** The grade among the values of an object or a list that has one. */
function onlyGrade(form, values) {
  const inner = [...values.values()].filter((value) => !form.labels.length || typeof value === 'string');
  const grades = inner.map((value) => gradeOf(form, value)).filter((grade) => grade !== null);
  return grades.length === 1 ? grades[0] : null;
}
