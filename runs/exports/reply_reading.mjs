// Read a verdict out of a reply: `judges/reply_reading.py` of Judgewright in JavaScript, function by function.
// Both pass the same table of cases. Python's white space, words and lines are not JavaScript's, so they are spelled
// out here.

const MAX_REPLY = 1 << 20; // characters
const MAX_OBJECTS = 200; // opening braces at which an object is tried
const MAX_DEPTH = 900; // objects and lists in each other
const MAX_REPAIR = 1 << 15; // characters
const MAX_REPAIRS = 20; // broken objects

const ENDS = {
  stop: ['', 'null', 'none', 'stop', 'stopped', 'stopsequence', 'stopsequences', 'stopword', 'eos', 'eostoken',
    'endoftext', 'endturn', 'endofturn', 'endofsequence', 'end', 'complete', 'completed', 'done', 'finish', 'finished',
    'success'],
  length: ['length', 'maxtokens', 'maxoutputtokens', 'maxlength', 'modellength', 'maxnewtokens',
    'modelcontextwindowexceeded', 'contextlength', 'tokenlimit', 'maxcompletiontokens'],
  content_filter: ['contentfilter', 'contentfiltered', 'safety', 'recitation', 'blocklist', 'prohibitedcontent', 'spii',
    'refusal', 'sensitive', 'errortoxic', 'guardrailintervened', 'guardrail', 'moderation', 'flagged', 'blocked'],
  tool_calls: ['toolcalls', 'toolcall', 'tooluse', 'functioncall'],
};
const ENUM = /^(?:.*[.:]|(?:finish|stop)_?reason_(?=.))/i;
const FINISHES = new Map(Object.entries(ENDS).flatMap(([end, words]) => words.map((word) => [word, end])));

const S = '\\t-\\r\\x1c-\\x20\\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000';
const W = '[\\p{L}\\p{N}_]';
const EDGE = `(?:(?<=${W})(?!${W})|(?<!${W})(?=${W}))`;
const MARK = `${S}"'*_\`\\[\\](){}\u201c\u201d\u2018\u2019\u00ab\u00bb`;
// Vowels with accents, then n with a tilde and c with a cedilla.
const ACCENTED = '\u00e1\u00e0\u00e2\u00e9\u00e8\u00ea\u00eb\u00ed\u00ec\u00ee\u00ef\u00f3\u00f2\u00f4\u00fa\u00f9\u00fb\u00f1\u00e7';
const ACCENTS = new Map([...ACCENTED].map((letter, at) => [letter, 'aaaeeeeiiiiooouuunc'[at]]));
const withoutAccents = (text) => [...text].map((letter) => ACCENTS.get(letter) ?? letter).join('');
const SCORE_WORDS = ['score', 'grade', 'rating', 'verdict', 'label', 'answer',
  '\u8bc4\u5206', '\u8bc4\u7ea7', '\u5f97\u5206', '\u5206\u6570', '\u8a55\u4fa1', '\u8a55\u70b9',
  '\u30b9\u30b3\u30a2', '\uc810\uc218', '\ud3c9\uc810'];
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
const ASKER = '(?:human|q|question|user|customer|instructions?|input|prompt|system)';
const ANSWERER = '(?:assistant|model|ai|response|output)';
const OBJECT = '\ufffc';
const TWO_VERDICTS = 'the reply has two verdicts that differ, and nothing says which of them counts';
const ONE = ['yes', 'true', '1', 'positive'];
const ZERO = ['no', 'false', '0', 'negative'];

/** A pattern that gives nothing back once it has matched; `regex` writes its two signs as JavaScript can. */
const atomic = (pattern) => `(?>${pattern}(?<)`;
const MARKS = atomic(`[${MARK}]{0,40}`);
const NUMBER =
  `-?(?:${atomic('[0-9]{1,9}')}${atomic('(?:\\.[0-9]{1,9}|,[0-9]{1,2}(?![0-9]))?')}|\\.${atomic('[0-9]{1,9}')})`;
/** A word and a colon before the verdict on its line. */
const KEY =
  `(?:(?![^\\n:]{0,40}(?:confidence|konfidenz))${atomic('[#>+ \\t\\-]{0,8}')}${MARKS}` +
  `[\\p{L}\\p{Nl}\\p{No}](?:[\\p{L}\\p{N}_ ]{0,40}${MARKS}[:\uff1a=]|[\\p{L}\\p{N}_]{0,20}` +
  `(?:[ \\t][\\p{L}\\p{N}_]{1,20})?${MARKS}(?:[\\-=]>|\u2192|[ \\t][\u2013\u2014\\-][ \\t])))?`;
const NAMED = '(?:(?:level|grade|score|rating|stufe|note|nota|points?|punkte|marks?)[ \\t]{1,3})?';
const UNIT = atomic('(?:[ \\t]{0,3}(?:stars?|points?|marks?|sterne?|punkte?|estrellas?|\u2605{1,9}))?');
/** What Chinese, Japanese and Korean write after a number of points, without a blank. */
const COUNTED = atomic(`(?:[\u5206\u70b9\uc810](?!${W}))?`);
function regex(pattern, flags = 'iu') {
  const open = [];
  let made = 0;
  const written = pattern.replace(/\(\?>|\(\?<\)/g, (sign) => {
    if (sign === '(?<)') {
      return `))\\k<kept${open.pop()}>`;
    }
    made += 1;
    open.push(made);
    return `(?=(?<kept${made}>`;
  });
  return new RegExp(written, flags);
}
const escaped = (text) => text.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&');
const strip = (text, set = S) => text.replace(regex(`^[${set}]+`, 'u'), '').replace(regex(`[${set}]+$`, 'u'), '');
const words = (text) => text.split(regex(`[${S}]+`, 'u')).filter(Boolean);
const lower = (text) => text.toLowerCase();
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
  let reading = readTurn(text, form, false);
  if (!reading && [...text].length <= MAX_REPAIR) {
    reading = readTurn(text, form, true);
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

/** Read the first turn of a reply: an object where JSON was asked for or is all there is, else prose. */
function readTurn(whole, asked, loose) {
  let form = asked;
  const inside = loose && whole.startsWith('"') ? decode(`{"":${whole}}`, 0).value : null;
  const only = inside?.size === 1 ? inside.get('') : null;
  const text = typeof only === 'string' ? strip(only) : whole; // all of the reply is JSON in a text
  const { turn, said, bodies, broken } = findObjects(text, form, loose);
  if (!form.json && /^(?:```[a-z]*[ \r\n]*)?\{[\s\S]*\}(?:[ \r\n]*```)?$/.test(turn)) {
    const name = (form.before.match(/[\p{L}\p{Nl}\p{No}][\p{L}\p{N}_]*/gu) ?? []).join('_');
    const named = name ? [name, name.toLowerCase()] : [];
    form = { ...form, scores: [...named, ...form.scores, ...(loose ? SCORE_WORDS : [])] };
    return choose(findObjects(text, form, loose).bodies, form, loose);
  }
  if (form.json && /[{}]/.test(turn)) {
    return broken ? null : choose(bodies, form, loose);
  }
  const reading = readProse(strip(said), form, loose);
  const atEnd = said.replace(/[` \r\n]+$/, '').endsWith(OBJECT) && !form.mark;
  return reading && !atEnd ? reading : choose(bodies, form, loose) ?? reading;
}

/** 1 minus a number, to twelve places, so that 1 minus the result is the number again. */
const turned = (number) => Math.floor((1 - number) * 1e12 + 0.5) / 1e12;

const THOUGHT = regex(ENDS_THOUGHT);
const TAG = regex(`${OPENS_THOUGHT}|(?<ends>${ENDS_THOUGHT})`);
const OPENING = regex(
  `[${S}]*(?:(?<thought>${OPENS_THOUGHT})|(?:${ENDS_TURN})(?:assistant|model|user|human|system)?)`, 'iuy',
);
const TURN = regex(`(?<struck><s>[^<\\n]{1,200}</s>)|${ENDS_TURN}`, 'iug');

function withoutThinking(text) {
  let at = 0;
  const tag = TAG.exec(text);
  if (tag?.groups.ends && opened(text.slice(0, tag.index)) === 0) {
    at = tag.index + tag[0].length;
  }
  for (;;) {
    OPENING.lastIndex = at;
    const opening = OPENING.exec(text);
    if (!opening) {
      return strip(text.slice(at));
    }
    at += opening[0].length;
    if (opening.groups.thought) {
      const rest = text.slice(at);
      const closed = THOUGHT.exec(rest);
      if (!closed) {
        return '';
      }
      at += closed.index + closed[0].length;
    } else if (/user|human|system/i.test(opening[0])) {
      return '';
    }
  }
}

const count = (text, letter) => text.split(letter).length - 1;
const opened = (text) => count(text, '{') - count(text, '}');

/** The top-level objects of a reply's turn, in one pass; loosely, those that are nearly JSON too. */
function findObjects(text, form, loose) {
  const bodies = [];
  let [said, broken] = ['', false];
  let [turn, most, depth, at, tries] = [0, 0, 0, 0, 0];
  const until = (end, kept) => {
    return { turn: strip(text.slice(0, end)), said: said + text.slice(at, end), bodies: kept, broken };
  };
  for (let tried = 0; tried < MAX_OBJECTS; tried += 1) {
    const start = text.indexOf('{', at);
    const before = start < 0 ? text : text.slice(0, start);
    let end = from(TURN, before, at).find((mark) => !mark.groups.struck)?.index;
    const named = broken && form.scores.some((name) => lower(text.slice(0, at)).includes(lower(name.split('.').at(-1))));
    if (end === undefined && (most || named)) {
      for (const head of from(headsPattern(form), before, at)) {
        if (!head.groups.answerer && [0, completeness(null, form)].includes(most)) {
          end = head.index;
          break;
        }
        turn += 1;
      }
    }
    if (end !== undefined || start < 0) {
      return until(end, bodies);
    }
    depth = Math.max(0, depth - count(text.slice(at, start), '}'));
    said += text.slice(at, start);
    let parsed = decode(text, start);
    if (parsed.tooDeep) {
      return { turn: text, said, bodies: [], broken };
    }
    if (!parsed.value && loose && tries < MAX_REPAIRS) {
      tries += 1;
      parsed = decodeNearly(text, start) ?? parsed;
    }
    at = parsed.end;
    if (!parsed.value) {
      depth = Math.max(0, depth + opened(text.slice(start, at)));
    }
    if (!parsed.value || depth) {
      broken = true;
      said += text.slice(start, at);
      continue;
    }
    said += OBJECT;
    const fields = askedFields(parsed.value, form, loose);
    if (form.scores.some((name) => fields.has(name))) {
      bodies.push([turn, fields]);
      if (completeness(fields, form) >= most) {
        [most, broken] = [completeness(fields, form), false];
      }
    }
  }
  return until(undefined, text.includes('{', at) ? [] : bodies);
}

/** All matches of a pattern from a place on, which may look at what stands before it. */
function from(pattern, text, at) {
  pattern.lastIndex = at;
  return [...text.matchAll(pattern)];
}

/** The pattern of a line that opens another turn: a head of the prompt, or who speaks. */
function headsPattern(form) {
  if (!heads.has(form)) {
    const ends = '[ \\t*\\r\\]>]{0,4}(?:[:\uff1a]|(?=\\n|$))';
    const own = (form.heads ?? []).map((head) => `|${withAnyBlanks(head)}${head.startsWith('<') ? '' : ends}`);
    const named = `${ASKER}${ends}|(?<answerer>${ANSWERER}${ends})${own.join('')}`;
    heads.set(form, regex(`(?<=[\\n}])[ \\t#*>\\[<\\-]{0,8}(?:${named})`, 'iug'));
  }
  return heads.get(form);
}

const heads = new WeakMap();

const STRING = /"[^"\\]*(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})[^"\\]*)*/y;
const JSON_NUMBER = '-?(?:0|[1-9][0-9]*)(?:\\.[0-9]+)?(?:[eE][-+]?[0-9]+)?';
const SCALAR = regex(`null|true|false|NaN|-?Infinity|${JSON_NUMBER}`, 'y');
const SPACE = /[ \t\n\r]*/y;

/** JSON from a brace on as Python's decoder reads it, with control characters in strings, and where it ends or fails. */
function decode(text, start) {
  let at = start;
  let constant = false;
  const fail = (place, tooDeep = false) => {
    throw Object.assign(new SyntaxError('no JSON'), { place, tooDeep });
  };
  const take = (pattern) => {
    pattern.lastIndex = at;
    const piece = pattern.exec(text)?.[0] ?? '';
    at += piece.length;
    return piece;
  };
  const expect = (sign) => {
    take(SPACE);
    if (text[at] !== sign) {
      fail(at);
    }
    at += 1;
    take(SPACE);
  };
  const string = () => {
    const piece = take(STRING) || fail(at);
    if (text[at] !== '"') {
      const escape = text[at + 1];
      fail(escape === undefined ? at - piece.length : at + Number(escape === 'u'));
    }
    at += 1;
    return JSON.parse(`${piece.replace(/[\0-\x1f]/g, (sign) => JSON.stringify(sign).slice(1, -1))}"`);
  };
  const members = (closing, member) => {
    const all = [];
    at += 1;
    take(SPACE);
    while (text[at] !== closing) {
      if (all.length) {
        expect(',');
      }
      all.push(member());
      take(SPACE);
    }
    at += 1;
    return all;
  };
  const value = (depth) => {
    if (depth > MAX_DEPTH) {
      fail(at, true);
    }
    if (text[at] === '"') {
      return string();
    }
    if (text[at] === '[') {
      return members(']', () => value(depth + 1));
    }
    if (text[at] === '{') {
      const pair = () => {
        const name = string();
        expect(':');
        return [name, value(depth + 1)];
      };
      return withDoubles(members('}', pair));
    }
    const scalar = take(SCALAR) || fail(at);
    constant ||= /[NI]/.test(scalar);
    return /[NI]/.test(scalar) ? null : JSON.parse(scalar);
  };
  try {
    const parsed = value(0);
    return { value: constant ? undefined : parsed, end: at };
  } catch (problem) {
    if (problem.place === undefined) {
      throw problem;
    }
    return { end: Math.max(start + 1, problem.place), tooDeep: problem.tooDeep };
  }
}

const ENDS_TEXT = '(?=[ \\t\\r\\n]{0,40}(?:[,:\uff1a\uff0c=}\\]]|//|/\\*|#|$)|[ \\t\\r]{0,40}\\n[ \\t\\r\\n]{0,40}["\'\u201c])';
const QUOTED = [['"', '"'], ["'", "'"], ['[\u201c\u201d\u201e]', '\u201c\u201d'], ['`', '`']].map(
  ([opening, closing]) => `${opening}((?:\\\\[^]|[^\\\\${closing}]|[${closing}](?!${ENDS_TEXT}))*)[${closing}]${ENDS_TEXT}`,
);
const NEARLY = regex(
  `[ \\t\\r\\n]+|//[^\\n]*|#[^\\n]*|/\\*(?:[^*]|\\*(?!/))*\\*/|([{}\\[\\],:\uff1a\uff0c=])|${QUOTED.join('|')}` +
    '|((?:[^ \\t\\r\\n,:\uff1a\uff0c=\\[\\]{}"\'\u201c\u201d\u201e`/#]|/(?![/*]))(?:[^\\n,:\uff1a\uff0c\\[\\]{}"\u201c\u201d/#]|/(?![/*]))*)',
  'uy',
);
const BARE = new Map(Object.entries({ true: 'true', false: 'false', null: 'null', none: 'null', nan: 'null', undefined: 'null' }));
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
    at += piece[0].length;
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
  const parsed = decode(pieces.join(''), 0);
  return parsed.value && !depth ? { value: parsed.value, end: at } : null;
}

/** A bare word or a text in quotes as JSON; null where it is neither, or stands for something left out. */
function asJson(bare, text) {
  if (text !== undefined) {
    const escape = (whole, known, other, quote) =>
      known ? `\\${known}` : quote ? '\\"' : other === "'" ? other : `\\\\${other}`;
    return `"${text.replace(/\\(?:(["\\/bfnrt]|u[0-9a-fA-F]{4})|([^]))|(")/gu, escape)}"`;
  }
  const word = (bare ?? '').replace(/[ \t\r]+$/, '').replace(/^\+/, '');
  if (!/[\p{L}\p{N}]/u.test(word)) {
    return null;
  }
  const number = regex(`^${JSON_NUMBER}$`, '').test(word);
  return number ? word : BARE.get(word.toLowerCase()) ?? JSON.stringify(word);
}

/** The verdict of the last object that is as complete as any other. */
function choose(bodies, form, loose) {
  if (!bodies.length) {
    return null;
  }
  const most = Math.max(...bodies.map(([, fields]) => completeness(fields, form)));
  const complete = bodies.filter(([, fields]) => completeness(fields, form) === most);
  const [turn, last] = complete.at(-1);
  const reading = readObject(last, form, loose);
  for (const [, fields] of turn !== bodies[0][0] ? bodies : loose ? complete : []) {
    if (!reading || readObject(fields, form, loose)?.score !== reading.score) {
      throw new Unreadable(TWO_VERDICTS);
    }
  }
  return reading;
}

/** How many of the fields that were asked for an object with the score has; without an object all of them. */
function completeness(fields, { texts, confidences }) {
  return 1 + [...texts, ...confidences].filter((name) => !fields || fields.has(name)).length;
}

/** The fields of an object that were asked for; loosely, whatever their letters, or within wrappers. */
function askedFields(body, form, loose, wrappers = 3) {
  const known = loose ? withDoubles([...body].map(([name, value]) => [plainName(name), value])) : body;
  const fields = new Map();
  const asked = [...form.scores, ...form.texts, ...form.confidences];
  for (const name of asked) {
    const spelled = loose && !body.has(name) ? plainName(name) : name;
    const deep = name.includes('.') ? nested(body, name) : null;
    const value = body.has(name) ? body.get(name) : known.has(spelled) ? known.get(spelled) : deep;
    if (value !== null || known.has(spelled)) {
      fields.set(name, value);
    }
  }
  if (!loose || !wrappers || form.scores.some((name) => fields.has(name))) {
    return fields;
  }
  const others = [...body].filter(([name]) => !asked.includes(name));
  let inner = others.map(([, value]) => called(value)).filter((one) => one instanceof Map);
  if (body.size > 1) {
    const every = completeness(null, form);
    inner = inner.filter((one) => every > 1 && askedFields(one, form, false).size === every);
  }
  return inner.length === 1 ? askedFields(inner[0], form, loose, wrappers - 1) : fields;
}

/** An object that stands as JSON in a text, as the arguments of a call of a tool do. */
const called = (value) => (typeof value === 'string' && value.startsWith('{') ? decode(value, 0).value : value);

const plainName = (name) => name.replace(regex(`[${S}_*\\-]`, 'gu'), '').toLowerCase();

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

function readObject(fields, form, loose) {
  const names = form.scores.filter((one) => fields.has(one));
  const written = names.map((name) => fields.get(name));
  if (written[0] instanceof Twice) {
    throw new Unreadable(`the field '${names[0]}' stands more than once in the reply, with different values`);
  }
  const grades = new Set(loose ? written.map((value) => looseGrade(form, value)) : [gradeOf(form, written[0])]);
  grades.delete(null);
  const score = grades.size === 1 ? [...grades][0] : null;
  const rationale = form.texts.map((name) => fields.get(name)).filter((text) => typeof text === 'string').join('\n');
  return score === null ? null : { score, parser: 'json', rationale };
}

const LINES = /\r\n|[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]/;

function splitLines(text) {
  const lines = text.split(LINES);
  return lines.at(-1) === '' ? lines.slice(0, -1) : lines;
}

/** The verdict of a reply in prose; where a head of the prompt follows on one, the model has gone on by itself. */
function readProse(reply, form, loose) {
  let text = reply;
  const lines = splitLines(text);
  if (text.startsWith('```') && lines.length > 2 && strip(lines.at(-1)) === '```') {
    text = strip(lines.slice(1, -1).join('\n'));
  }
  text = text.replace(/\r\n?/g, '\n');
  const places = placesOf(form);
  if (loose) {
    // `<4>` where the prompt has written `<1 to 5>`
    const bare = (whole, inner) => (valueAt(places.alone, inner) === null ? whole : inner);
    text = withPlainDigits(text).replace(PICTURE, '$1 $2').replace(/[` \n]+$/, '').replace(/<([^<>/\n]{1,20})>/gu, bare);
  }
  for (const head of from(headsPattern(form), text, 0).slice(0, 8)) {
    const before = strip(text.slice(0, head.index));
    const inPlace =
      ['between', 'start'].includes(form.mark) || last(places.name, before) || valueAt(places.alone, lastLine(before));
    const reading = before && inPlace ? proseVerdict(before, form, loose) : null;
    if (reading) {
      const rest = strip(text.slice(head.index + head[0].length));
      const again = head.groups.answerer ? proseVerdict(rest, form, loose) : null;
      if (again && again.score !== reading.score) {
        throw new Unreadable(TWO_VERDICTS);
      }
      return reading;
    }
  }
  return proseVerdict(text, form, loose);
}

const lastLine = (text) => text.slice(text.lastIndexOf('\n') + 1);
const PICTURES = '\\u2600-\\u2604\\u2607-\\u27bf\\ufe0f\\u{1f300}-\\u{1faff}';
const PICTURE = regex(`^([^\\n${PICTURES}]*)[${PICTURES}]+([^\\n${PICTURES}]*)$`, 'gmu');
const withPlainDigits = (text) => text.replace(/[\uff10-\uff19]/g, (digit) => String.fromCharCode(digit.charCodeAt(0) - 0xfee0));

/** The verdict at the first place that has a value. */
function proseVerdict(text, form, loose) {
  for (const [parser, place, piece] of pieces(text, form, loose)) {
    const written = valueAt(placesOf(form)[place], piece);
    if (written !== null) {
      const score = gradeOf(form, written);
      return score === null ? null : { score, parser, rationale: text };
    }
  }
  return null;
}

const made = new WeakMap();

/** The patterns of the places where a value may stand, by name, made once for a form; some are for labels only. */
function placesOf(form) {
  if (!made.has(form)) {
    const value = valuePattern(form);
    const first = `[${MARK}]{0,40}${value}`;
    const named = `${KEY}[${MARK}]{0,40}${NAMED}${value}${UNIT}`;
    const end = `${MARKS}\\.?${MARKS}$`;
    const after = form.after ? `[${MARK}.]{0,40}?${withAnyBlanks(form.after)}` : '';
    // words of two letters or more, which nothing opens with by chance
    const worded = form.labels.length > 0 && form.labels.every((label) => /^[\p{L}\p{Nl}\p{No}]{2}/u.test(label));
    const reason = worded ? `${MARKS}[,;:\u2013\u2014\\-]` : '\\)(?!.{0,400}(?<!\\w)\\w\\))'; // "c) The text says so."
    const closing = (worded ? atomic(`[${S}]*`) : '(?!)') + first + UNIT + end;
    const again = `(?<!${W})${value.replace('?<value>', '?:')}${form.labels.length ? '' : '|[0-9]'}`;
    const why = `(?=${MARKS}(?:[.,;:\u2013\u2014(\\[\\-]|$)|[ \\t]{0,9}[(\\[])`; // "4 (Mostly)"
    const patterns = {
      first,
      alone: first + UNIT + end,
      'before its mark': first + after,
      'ends a clause': `${first}(?=${MARKS}(?:[.,;:!\u2013\u2014\\-]|$))`,
      'before a reason': form.labels.length ? `${first}(?=${reason})` : '(?!)',
      'all of a line': named + end,
      'last clause': atomic(`[^\\n]*(?:[.!?:;\u2013\u2014](?=[${S}])|${ARROW}|[${S}]-(?=[${S}]))`) + closing,
      'after an arrow': atomic(`[^\\n]*(?:${ARROW})`) + closing,
      only: `${atomic(named)}${why}(?![^]*?(?:${again}))`,
    };
    const places = Object.entries(patterns).map(([name, pattern]) => [name, regex(`^(?:${pattern})`)]);
    made.set(form, { ...Object.fromEntries(places), name: linePattern(form) });
  }
  return made.get(form);
}

/** Write one side of a mark as a pattern; there may be a blank before its colon, as in French. */
function withAnyBlanks(mark) {
  const pattern = words(mark.replace(regex(`[${S}]*[:=]$`, 'u'), '')).map(escaped).join(`[${S}]+`);
  const sign = { ':': '[:\uff1a]', '=': '=' }[mark.at(-1)];
  return sign ? `${pattern}[${S}]*${sign}` : pattern;
}

/** A mark in other brackets, or with the scale in brackets or another sign at its end. */
function sloppyMark(mark) {
  const name = withAnyBlanks(strip(mark, '\\[\\](){}<>*:\uff1a '));
  return /[:\uff1a]$/.test(mark)
    ? `${name}(?:[${S}]*[(\\[][^()\\[\\]\\n]{0,40}[)\\]])?(?:[ \\t*_]{0,9}[:\uff1a=\u2013\u2014\\-]|[\u3011\\]])`
    : `[\\[(<{*\u3010]{1,4}${name}[\\])>}*\u3011]{1,4}[:\uff1a]?`;
}

const ARROW = '[\\-=]>|[\u2192\u21d2]';
/** Where a verdict is looked for, one after another: how that is called, the place, and the piece of text. */
function* pieces(text, form, loose) {
  const { mark, after } = form;
  const places = placesOf(form);
  const marked = mark === 'between' ? afterMark(text, form, loose) : null;
  if (marked !== null) {
    yield ['mark', 'before its mark', marked];
    if (loose || !after) {
      const [within] = marked.split(after ? regex(sloppyMark(after)) : '\n', 1);
      yield ['mark', loose ? 'only' : 'after an arrow', strip(within)];
    }
    return;
  }
  const name = last(places.name, text);
  if (name) {
    yield ['last', ...restOfLine(text, name)];
    return;
  }
  const lines = splitLines(strip(text));
  if (lines.length && ['start', 'last line'].includes(mark)) {
    if (mark === 'start') {
      yield ['mark', 'first', lines[0]];
      yield ['mark', 'ends a clause', lines.at(-1)];
    } else if (lines.length === 1) {
      yield ['mark', 'before a reason', lines[0]];
    }
    yield ['mark', 'all of a line', lines.at(-1)];
    yield ['mark', 'last clause', lines.at(-1)];
    if (lines.length > 1 && !strip(lines[1])) {
      yield ['mark', 'alone', lines[0]];
    }
  }
  const sentence = last(SENTENCE, text);
  if (sentence) {
    yield ['sentence', ...restOfLine(text, sentence)];
    return;
  }
  yield ['whole', 'alone', text];
  const line = lastLine(text);
  const ending = valueAt(places['all of a line'], line);
  // A number without a name or a unit may count anything, and so may one that ends a sentence.
  const named = form.labels.length || /[\p{L}\p{Nl}\p{No}/\uff0f\u2605]/u.test(line);
  if (ending !== null && named && words(line.slice(0, line.lastIndexOf(ending))).length <= 3) {
    yield ['last', 'all of a line', line];
  }
  yield ['last', 'after an arrow', strip(line)];
}

/** What follows on the prompt's own mark, loosely on one that is nearly it. */
function afterMark(text, form, loose) {
  const apart = /^[\p{L}\p{N}]/u.test(form.before) ? `(?<!${W})` : '';
  const mark =
    last(regex(apart + withAnyBlanks(form.before), 'giu'), text) ??
    (loose ? last(regex(sloppyMark(form.before), 'giu'), text) : null);
  return mark && text.slice(mark.index + mark[0].length);
}

/** The place and the rest of a line; of an empty rest, the next line, which is nothing but a value. */
function restOfLine(text, match) {
  const all = text.slice(match.index + match[0].length);
  const [rest] = all.split('\n', 1);
  if (strip(rest, ' \\t*_`')) {
    return ['first', words(rest).join(' ')];
  }
  return ['alone', all.slice(rest.length).replace(regex(`^[${S}]+`, 'u'), '').split('\n', 1)[0]];
}

const last = (pattern, text) => [...text.matchAll(pattern)].at(-1) ?? null;
const valueAt = (pattern, text) => pattern.exec(text)?.groups.value ?? null;

const SCALE = atomic('(?:[(\\[][^()\\[\\]\\n]{0,40}[)\\]][ \\t*_]{0,9})?');

function linePattern(form) {
  const taken = [...form.texts, ...form.confidences];
  const all = new Set([...form.scores, ...SCORE_WORDS.filter((word) => !taken.includes(word))]);
  const named = [...all].sort((one, other) => other.length - one.length).map((word) => escaped(word).replaceAll('_', '[ _]'));
  const head =
    `(?:^|(?<=\\n))${atomic('[ \\t>*_#`"\'\u201c\u2018\u00ab|\u2022(\\[+\\-]{0,40}')}(?:[0-9]{1,2}[.)]${atomic('[ \\t*_]{0,8}')})?` +
    `(?:(?:the|my)${atomic('[ \\t*_]{1,8}')})?(?:(?:final|overall)${atomic('[ \\t*_]{1,8}')})?`;
  return regex(`${head}(?:${named.join('|')})${atomic('[ \\t"\'*_`\\])\u201d\u2019\u00bb]{0,40}')}${SCALE}[:=\uff1a]`, 'giu');
}

const GAP = `[${S}*_]{1,8}`;
const SENTENCE = regex(
  `(?<!${W})(?:the|my|final|overall)${atomic(GAP)}(?:score|grade|rating|verdict)${atomic(GAP)}is(?!${W}):?`,
  'giu',
);

const PERCENT = `(?:[%\uff05]|per[${S}]?cent${EDGE})`;

function valuePattern(form) {
  const labels = form.kind === 'probability' ? [] : form.labels.map((label) => words(label).join(' '));
  const usual = form.kind === 'binary' ? ['yes', 'no', 'true', 'false', '1', '0'] : [];
  const all = [...new Set([...labels, ...labels.map(withoutAccents), ...usual])].sort((one, other) => other.length - one.length);
  const value = all.map(escaped).join('|') || NUMBER;
  const end =
    `(?!_{0,8}[\\p{L}\\p{N}]|[\\-+>=&^~\u00b0]|<(?!/?[a-z])|\\.[0-9]` +
    `|${MARKS}(?:[?\uff1f/\uff0f\u2026\u2192]|\\\\?[%\u2030\uff05]|\\.\\.|[\\-=]>|[\\-\u2013\u2014\u2212~]{1,3}[${S}]?[0-9]|[,;][${S}]?[0-9]` +
    `|[,;]?[${S}]?(?:to|or)${EDGE}|(?:of|out[${S}]of|through|until|versus|vs|per[${S}]?cent)${EDGE}` +
    `|(?:and[${S}]|[|][${S}]?)(?:a[${S}]half|${value})${EDGE}))`;
  const percent = ofHundred(form) ? atomic(`(?:[${S}]?${PERCENT})?`) : '';
  if (all.length) {
    const alone = `(?![${S}](?!(?:because|since|as)${EDGE})[\\p{L}\\p{Nl}\\p{No}])`;
    const phrase = (word) => word.toLowerCase() === 'no' || ([...word].length === 1 && /^\p{L}$/u.test(word));
    const numbers = labels.filter((label) => regex(`^${NUMBER}$`, 'u').test(label));
    const [highest] = numbers.toSorted((one, other) => Number(other.replace(',', '.')) - Number(one.replace(',', '.')));
    const top = labels.length && numbers.length === labels.length ? atomic(`(?:[${S}]?/[${S}]?${escaped(highest)})?`) : '';
    return `(?<value>${all.map((word) => howeverApart(word) + (phrase(word) ? alone : '')).join('|')})${percent}${top}${end}`;
  }
  const top = `${MARKS}(?:[/\uff0f]|(?:out[${S}])?of${EDGE})${MARKS}${form.high}${COUNTED}${end}`;
  return `(?<value>${value})${percent}${COUNTED}(?:${top}|${end})`;
}

/** Whether its grades go from 0 to 100, or from 100 to 0, so that a percent sign may stand after one. */
function ofHundred({ low, high, labels }) {
  if (!labels.length) {
    return low === 0 && high === 100;
  }
  return ['0', '100'].every((end) => labels.includes(end)) && labels.every((label) => /^(?:[0-9]{1,2}|100)$/.test(label));
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
    const name = folded(word);
    const bare = labels.map((label) => withoutAccents(folded(label)));
    const joined = labels.map((label) => together(folded(label)));
    const spellings = [[labels.map(folded), name], [labels, word], [bare, name], [joined, together(name)]];
    for (const [all, spelled] of spellings) {
      const place = all.indexOf(spelled);
      if (spelled && place >= 0 && place === all.lastIndexOf(spelled)) {
        return place;
      }
    }
    if (kind === 'choice' || (kind === 'graded' && labels.length)) {
      return null;
    }
    if (kind === 'binary') {
      const plain = word.toLowerCase();
      return ONE.includes(plain) || ZERO.includes(plain) ? plainPlace(ONE.includes(plain), labels) : null;
    }
    return regex(`^${NUMBER}$`, 'u').test(word) ? Number(word.replace(',', '.')) : null;
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

/** The grade of a value that is nearly one: "0/3", "4 (Mostly)", {"value": 0}, [3]. */
function looseGrade(form, value) {
  const grade = gradeOf(form, value);
  if (grade !== null) {
    return grade;
  }
  const named = value instanceof Map ? [...value].filter(([name]) => ['value', ...SCORE_WORDS].includes(name.toLowerCase())) : [];
  const values = Array.isArray(value) ? value : named.map(([, inner]) => inner);
  if (values.length === 1) {
    return gradeOf(form, values[0]);
  }
  const written = typeof value === 'string' ? valueAt(placesOf(form).only, strip(withPlainDigits(value))) : null;
  return written === null ? null : gradeOf(form, written);
}
