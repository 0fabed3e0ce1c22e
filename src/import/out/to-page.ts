import { toMarkdownLine } from '../../base/text.ts';
import type { Block, ImageBlock } from '../source/source.ts';
import type { History, Said } from './read-history.ts';

// A history to read: Markdown, or one HTML file without scripts, with its pictures inside.

const NAMES = { user: 'User', assistant: 'Assistant', tool: 'Result', system: 'System' } as const;

export async function* toMarkdown(history: History): AsyncGenerator<string> {
  yield `# ${toMarkdownLine(titleOf(history))}\n\n`;
  for (const [name, value] of factsOf(history)) yield `- ${name}: ${codeSpan(value)}\n`;
  for await (const said of history.turns()) {
    yield `\n## ${headingOf(said, toMarkdownLine)}\n\n`;
    if (said.head.summary !== undefined) yield `${said.head.summary}\n\n`;
    for (const block of said.blocks) yield `${markdownOf(block)}\n\n`;
  }
}

function markdownOf(block: Block): string {
  switch (block.is) {
    case 'text':
      return block.text;
    case 'thinking':
      return block.text.replaceAll(/^/gm, '> ');
    case 'call':
      return `Call ${codeSpan(block.name)}\n\n${fence(showInput(block.input), 'json')}`;
    case 'result':
      return (
        fence(block.text, '') + block.images.map((image) => `\n\n${markdownOf(image)}`).join('')
      );
    case 'image':
      return isPicture(block)
        ? `![picture](data:${block.mime};base64,${block.data})`
        : `A picture of type ${codeSpan(block.mime)}`;
  }
}

/** A fence that is longer than any in the text. */
function fence(text: string, language: string): string {
  const ticks = ticksAround(text, 3);
  return `${ticks}${language}\n${text}\n${ticks}`;
}

/** One line of code that ends where the text does. */
function codeSpan(text: string): string {
  const line = text.replaceAll(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, ' ').trim();
  const ticks = ticksAround(line, 1);
  const pad = line === '' || line.startsWith('`') || line.endsWith('`') ? ' ' : '';
  return `${ticks}${pad}${line}${pad}${ticks}`;
}

function ticksAround(text: string, least: number): string {
  let longest = least - 1;
  for (const [{ length }] of text.matchAll(/`+/g)) longest = Math.max(longest, length);
  return '`'.repeat(longest + 1);
}

/** A file gives type and bytes of a picture, and may put anything there. */
function isPicture({ mime, data }: ImageBlock): boolean {
  return /^image\/(?:png|jpeg|gif|webp)$/.test(mime) && /^[A-Za-z0-9+/=]*$/.test(data);
}

/** Nothing from elsewhere is loaded, and nothing runs, whatever a text says. */
const POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'";
const STYLE = `body{max-width:56rem;margin:2rem auto;padding:0 1rem;font:16px/1.5 system-ui,sans-serif}
section{border-top:1px solid #8884;padding:.5rem 0}h2{font-size:1rem;margin:.5rem 0}
pre{white-space:pre-wrap;overflow-wrap:anywhere}pre.code{background:#8881;padding:.75rem;border-radius:.4rem}
.thinking{opacity:.7}img{max-width:100%}dt{font-weight:600}dd{margin:0 0 .25rem}
@media(prefers-color-scheme:dark){body{background:#111;color:#ddd}}`;

export async function* toHtml(history: History): AsyncGenerator<string> {
  const title = escapeHtml(titleOf(history));
  yield `<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n`;
  yield `<meta http-equiv="Content-Security-Policy" content="${POLICY}">\n`;
  yield `<meta name="viewport" content="width=device-width">\n<title>${title}</title>\n`;
  yield `<style>${STYLE}</style>\n</head>\n<body>\n<h1>${title}</h1>\n<dl>\n`;
  for (const [name, value] of factsOf(history)) {
    yield `<dt>${name}</dt><dd>${escapeHtml(value)}</dd>\n`;
  }
  yield '</dl>\n';
  for await (const said of history.turns()) {
    yield `<section>\n<h2>${escapeHtml(headingOf(said, String))}</h2>\n`;
    if (said.head.summary !== undefined) yield `<pre>${escapeHtml(said.head.summary)}</pre>\n`;
    for (const block of said.blocks) yield `${htmlOf(block)}\n`;
    yield '</section>\n';
  }
  yield '</body>\n</html>\n';
}

function htmlOf(block: Block): string {
  switch (block.is) {
    case 'text':
      return `<pre>${escapeHtml(block.text)}</pre>`;
    case 'thinking':
      return `<pre class="thinking">${escapeHtml(block.text)}</pre>`;
    case 'call':
      return `<p>Call <code>${escapeHtml(block.name)}</code></p><pre class="code">${escapeHtml(showInput(block.input))}</pre>`;
    case 'result':
      return `<pre class="code">${escapeHtml(block.text)}</pre>${block.images.map(htmlOf).join('')}`;
    case 'image':
      return isPicture(block)
        ? `<img alt="picture" src="data:${block.mime};base64,${block.data}">`
        : `<p>A picture of type ${escapeHtml(block.mime)}</p>`;
  }
}

function escapeHtml(text: string): string {
  const entities: Readonly<Record<string, string>> = {
    '&': 'amp',
    '<': 'lt',
    '>': 'gt',
    '"': 'quot',
  };
  return text.replaceAll(/[&<>"]/g, (char) => `&${entities[char] ?? ''};`);
}

function titleOf({ context }: History): string {
  return context.title ?? `Context ${context.id}`;
}

function factsOf({ context, source, session, cwd, model }: History): (readonly [string, string])[] {
  const facts = [
    ['context', String(context.id)],
    ['from', source?.title],
    ['session', session],
    ['folder', cwd],
    ['model', model],
  ] as const;
  return facts.flatMap(([name, value]) => (value === undefined ? [] : [[name, value] as const]));
}

function headingOf({ what, role, at, head }: Said, escape: (text: string) => string): string {
  const name =
    what === 'marker'
      ? `Marker: ${escape(head.kind ?? '')}`
      : what === 'event'
        ? 'Event'
        : NAMES[role];
  const flags = head.flags === undefined ? '' : ` (${head.flags.join(', ')})`;
  return `${name}${flags}, ${new Date(at).toISOString()}`;
}

function showInput(input: unknown): string {
  return typeof input === 'string' ? input : (JSON.stringify(input, null, 2) ?? '');
}
