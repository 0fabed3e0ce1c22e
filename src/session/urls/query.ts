import { QuipuError } from '../../base/errors.ts';

/** A step into a document. A name made of digits is also a place in an array. */
export type Step =
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
      if (name === undefined) throw wrong(`unexpected token '${char}'`, query);
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
    if (whole === undefined || body === undefined) throw wrong('missing ]', query);
    const end = start + whole.length;
    if (end >= text.length) throw wrong('missing ]', query);
    if (text[end] !== ']') throw wrong(`unexpected token '${text[end]}'`, query);
    return { step: { kind: 'key', key: body.replaceAll(/\\(["'\\])/g, '$1') }, end: end + 1 };
  }
  const close = text.indexOf(']', start);
  if (close === -1) throw wrong('missing ]', query);
  const body = text.slice(start, close).trim();
  if (body === '') throw wrong('empty []', query);
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
export function decodePercent(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    // The text is not an encoding: somebody meant the percent sign.
    return text;
  }
}

function wrong(problem: string, query: string): QuipuError<'INVALID'> {
  return new QuipuError('INVALID', `Invalid query: ${problem} in ${query}`, { what: 'query' });
}
