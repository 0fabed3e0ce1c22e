import type { HLJSApi, LanguageFn } from 'highlight.js';

// Colours for code. The highlighter and its languages load when the first block of code is seen.

/** Longer code stays without colours: highlighting would stop the page. */
const CODE_CHARS_MAX = 50_000;

const LANGUAGES: Readonly<Record<string, () => Promise<{ default: LanguageFn }>>> = {
  bash: () => import('highlight.js/lib/languages/bash'),
  c: () => import('highlight.js/lib/languages/c'),
  cpp: () => import('highlight.js/lib/languages/cpp'),
  css: () => import('highlight.js/lib/languages/css'),
  diff: () => import('highlight.js/lib/languages/diff'),
  go: () => import('highlight.js/lib/languages/go'),
  java: () => import('highlight.js/lib/languages/java'),
  javascript: () => import('highlight.js/lib/languages/javascript'),
  json: () => import('highlight.js/lib/languages/json'),
  markdown: () => import('highlight.js/lib/languages/markdown'),
  python: () => import('highlight.js/lib/languages/python'),
  rust: () => import('highlight.js/lib/languages/rust'),
  sql: () => import('highlight.js/lib/languages/sql'),
  typescript: () => import('highlight.js/lib/languages/typescript'),
  xml: () => import('highlight.js/lib/languages/xml'),
  yaml: () => import('highlight.js/lib/languages/yaml'),
};
const ALIASES: Readonly<Record<string, string>> = {
  sh: 'bash',
  shell: 'bash',
  zsh: 'bash',
  js: 'javascript',
  jsx: 'javascript',
  mjs: 'javascript',
  ts: 'typescript',
  tsx: 'typescript',
  html: 'xml',
  svg: 'xml',
  py: 'python',
  rs: 'rust',
  yml: 'yaml',
  'c++': 'cpp',
  md: 'markdown',
};

let core: Promise<HLJSApi> | undefined;

/** Colours one element in place. The highlighter escapes what it is given. */
export async function highlight(code: HTMLElement): Promise<void> {
  const [, given] = /(?:^|\s)language-([\w+-]+)/.exec(code.className) ?? [];
  const name = ALIASES[given ?? ''] ?? given ?? '';
  const load = Object.hasOwn(LANGUAGES, name) ? LANGUAGES[name] : undefined;
  const text = code.textContent ?? '';
  if (load === undefined || text.length > CODE_CHARS_MAX) return;
  core ??= import('highlight.js/lib/core').then((module) => module.default);
  const [api, language] = await Promise.all([core, load()]);
  if (api.getLanguage(name) === undefined) api.registerLanguage(name, language.default);
  code.innerHTML = api.highlight(text, { language: name, ignoreIllegals: true }).value;
  code.classList.add('hljs');
}
