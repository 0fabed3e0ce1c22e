import DOMPurify from 'dompurify';
import { Marked } from 'marked';
import { useEffect, useMemo, useRef } from 'preact/hooks';
import type { JSX } from 'preact';
import { count, visible } from '../state/format.ts';
import { useFinder } from './found.tsx';
import { highlight } from './highlight.ts';

// Text of agents is hostile. Markdown becomes HTML, the sanitiser keeps a short list of elements and attributes, and
// nothing in it loads, runs or submits anything. Pictures in Markdown become links: the page shows pictures of blobs only.

/** More than this is shown as plain text: nobody reads it as Markdown, and parsing it would stop the page. */
const MARKDOWN_CHARS_MAX = 100_000;

const marked = new Marked({ gfm: true, breaks: true, async: false });
marked.use({
  renderer: {
    // Raw HTML in Markdown is shown as the text that it is.
    html: ({ text }) => escape(text),
    image: ({ href, text }) => `<a href="${escape(href)}">${escape(text || href)}</a>`,
  },
});

const purifier = DOMPurify(window);
purifier.addHook('afterSanitizeAttributes', (node) => {
  if (node.tagName !== 'A') return;
  node.setAttribute('target', '_blank');
  node.setAttribute('rel', 'noopener noreferrer nofollow');
});

const TAGS =
  'a b strong em i del code pre p br hr blockquote ul ol li h1 h2 h3 h4 h5 h6 span input table thead tbody tr th td';
const ALLOWED = {
  ALLOWED_TAGS: TAGS.split(' '),
  ALLOWED_ATTR: ['href', 'class', 'align', 'start', 'type', 'checked', 'disabled'],
  ALLOWED_URI_REGEXP: /^(?:https?:|mailto:)/i,
  ALLOW_DATA_ATTR: false,
};

export function Markdown({ text }: { text: string }): JSX.Element {
  const place = useRef<HTMLDivElement>(null);
  const isLong = text.length > MARKDOWN_CHARS_MAX;
  const html = useMemo(() => (isLong ? '' : toHtml(text)), [text, isLong]);
  useEffect(() => {
    for (const code of place.current?.querySelectorAll('pre > code') ?? []) {
      void highlight(code as HTMLElement);
    }
  }, [html]);
  if (isLong) return <Plain text={text} />;
  // The HTML comes from the sanitiser above, and from nowhere else.
  return <div class="markdown" dir="auto" ref={place} dangerouslySetInnerHTML={{ __html: html }} />;
}

export function toHtml(text: string): string {
  return purifier.sanitize(marked.parse(visible(text)) as string, ALLOWED);
}

/** Characters of a text that are drawn at once. */
const PLAIN_CHARS_MAX = 20_000;

/** Characters before a word that was searched for. */
const LEAD_CHARS = 2000;

/** Text as it is, in bounded pieces: its beginning, or what is around a word that was searched for. */
export function Plain({ text }: { text: string }): JSX.Element {
  const find = useFinder();
  const from = useMemo(() => {
    const [first = 0] = text.length > PLAIN_CHARS_MAX ? (find?.(text)[0] ?? []) : [];
    return first < PLAIN_CHARS_MAX ? 0 : first - LEAD_CHARS;
  }, [find, text]);
  const left = text.length - from - PLAIN_CHARS_MAX;
  return (
    <pre class="plain" dir="auto">
      {from > 0 && `… ${count(from)} characters before this\n`}
      {visible(text.slice(from, from + PLAIN_CHARS_MAX))}
      {left > 0 && `\n… ${count(left)} characters more`}
    </pre>
  );
}

function escape(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;');
}
