import { QuipuError } from '../../base/errors.ts';
import { checkString } from '../../base/text.ts';

type InternalUrl =
  | { readonly kind: 'artifact'; readonly id: string }
  | {
      readonly kind: 'agent';
      readonly id: string;
      /** Undefined for the whole text. */
      readonly query?: string;
    };

/** Parses an address, whether or not its text exists. */
export function parseInternalUrl(url: string): InternalUrl {
  checkString(url, 'url');
  const [, scheme = '', rest = ''] = /^([^:/]*):(?:\/\/)?([^]*)$/.exec(url) ?? ['', url];
  if (url.startsWith('artifact://')) return parseArtifact(rest);
  if (url.startsWith('agent://')) return parseAgent(rest);
  throw wrong(`Unknown protocol: ${scheme}://\nSupported: agent://, artifact://`);
}

function parseArtifact(rest: string): InternalUrl {
  if (rest === '') throw wrong('artifact:// URL requires a numeric ID: artifact://0');
  const id = decodePercent(rest);
  if (!/^\d+$/.test(id) || id.endsWith('\n')) {
    throw wrong(`artifact:// ID must be numeric, got: ${id}`);
  }
  return { kind: 'artifact', id };
}

function parseAgent(rest: string): InternalUrl {
  const mark = rest.indexOf('?');
  const before = mark === -1 ? rest : rest.slice(0, mark);
  const slash = before.indexOf('/');
  const id = decodePercent(slash === -1 ? before : before.slice(0, slash));
  if (id === '') throw wrong('agent:// URL requires an output ID: agent://<id>');
  const path = slash === -1 ? '' : before.slice(slash + 1);
  const asked = mark === -1 ? '' : queryParameter(rest.slice(mark + 1));
  if (path !== '' && asked !== '') {
    throw wrong('agent:// URL cannot combine path extraction with ?q=');
  }
  if (asked !== '') return { kind: 'agent', id, query: asked };
  return path === '' ? { kind: 'agent', id } : { kind: 'agent', id, query: pathToQuery(path) };
}

function queryParameter(text: string): string {
  const pair = text.split('&').find((part) => part.startsWith('q='));
  return pair === undefined ? '' : decodePercent(pair.slice(2).replaceAll('+', ' '));
}

function wrong(message: string): QuipuError<'INVALID'> {
  return new QuipuError('INVALID', message, { what: 'url' });
}

/** A step into a document. A name made of digits is also a place in an array. */
type Step =
  | { readonly kind: 'name'; readonly key: string }
  | { readonly kind: 'key'; readonly key: string }
  | { readonly kind: 'index'; readonly index: number };

/** Parses `.foo.bar[0]['a.b']`. Dots only separate, and nothing or a single dot is the whole document. */
export function parseQuery(query: string): Step[] {
  const steps: Step[] = [];
  const text = query.trim();
  let at = 0;
  while (at < text.length) {
    const char = text[at];
    if (char === '.') {
      at++;
    } else if (char === '[') {
      const { step, end } = parseBracket(text, at, query);
      steps.push(step);
      at = end;
    } else {
      const [name] = /^[A-Za-z0-9_-]+/.exec(text.slice(at)) ?? [];
      if (name === undefined) throw wrongQuery(`unexpected token '${char}'`, query);
      steps.push({ kind: 'name', key: name });
      at += name.length;
    }
  }
  return steps;
}

function parseBracket(text: string, open: number, query: string): { step: Step; end: number } {
  const inside = /^\[\s*/.exec(text.slice(open))?.[0].length ?? 1;
  const start = open + inside;
  const quote = text[start];
  if (quote === '"' || quote === "'") {
    const [whole, body] =
      (quote === '"' ? /^"((?:\\.|[^"\\])*)"\s*/ : /^'((?:\\.|[^'\\])*)'\s*/).exec(
        text.slice(start),
      ) ?? [];
    if (whole === undefined || body === undefined) throw wrongQuery('missing ]', query);
    const end = start + whole.length;
    if (end >= text.length) throw wrongQuery('missing ]', query);
    if (text[end] !== ']') throw wrongQuery(`unexpected token '${text[end]}'`, query);
    return { step: { kind: 'key', key: body.replaceAll(/\\(["'\\])/g, '$1') }, end: end + 1 };
  }
  const close = text.indexOf(']', start);
  if (close === -1) throw wrongQuery('missing ]', query);
  const body = text.slice(start, close).trim();
  if (body === '') throw wrongQuery('empty []', query);
  const step: Step = /^\d+$/.test(body)
    ? { kind: 'index', index: Number(body) }
    : { kind: 'key', key: body };
  return { step, end: close + 1 };
}

/** Returns the value at the end of the steps, or undefined. Only the document's own properties are visible. */
export function extract(document: unknown, steps: readonly Step[]): unknown {
  let value = document;
  for (const step of steps) {
    if (typeof value !== 'object' || value === null) return undefined;
    value = Array.isArray(value)
      ? intoArray(value, step)
      : intoObject(value as Record<string, unknown>, step);
  }
  return value;
}

function intoArray(array: readonly unknown[], step: Step): unknown {
  if (step.kind === 'index') return array[step.index];
  return step.kind === 'name' && /^\d+$/.test(step.key) ? array[Number(step.key)] : undefined;
}

function intoObject(object: Record<string, unknown>, step: Step): unknown {
  if (step.kind === 'index' || !Object.hasOwn(object, step.key)) return undefined;
  return object[step.key];
}

/** Turns `/foo/bar/0` into a query. */
export function pathToQuery(path: string): string {
  return path
    .split('/')
    .filter((part) => part !== '')
    .map(decodePercent)
    .map((part) => {
      if (/^\d+$/.test(part)) return `[${part}]`;
      if (/^[A-Za-z0-9_-]+$/.test(part)) return `.${part}`;
      return `['${part.replaceAll(/[\\']/g, String.raw`\$&`)}']`;
    })
    .join('');
}

/** Returns the text itself when its encoding is malformed. */
function decodePercent(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    // The text is not an encoding: somebody meant the percent sign.
    return text;
  }
}

function wrongQuery(problem: string, query: string): QuipuError<'INVALID'> {
  return new QuipuError('INVALID', `Invalid query: ${problem} in ${query}`, { what: 'query' });
}
