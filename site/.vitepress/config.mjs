// The site: every Markdown document of the project, and the reference that TypeDoc makes of the types.
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitepress';
import { listPages } from '../pages.mjs';

const sections = listPages(fileURLToPath(new URL('../..', import.meta.url)));
const sidebar = sections.map(({ title, pages }) => ({
  text: title,
  collapsed: title !== 'Guide',
  items: pages.map((page) => ({
    text: page.title,
    link: `/${page.path.replace(/(?:index)?\.md$/, '')}`,
  })),
}));
const api = { text: 'API', items: [{ text: 'Types and functions', link: '/api/' }] };

export default defineConfig({
  title: 'Quipu',
  description: 'Durable memory for AI agents',
  // A site may live below a path, as project pages of a forge do.
  base: process.env.QUIPU_SITE_BASE ?? '/',
  srcDir: 'pages',
  outDir: 'dist',
  rewrites: { 'README.md': 'index.md' },
  cleanUrls: true,
  lastUpdated: false,
  // A document may link to a source file. The site has no page for it, and the test of links checks it.
  ignoreDeadLinks: [
    /\.(ts|tsx|mjs|py|json|yml|svg|txt)$/,
    /\/(examples|LICENSE|clients|scripts)(\/|$)/,
  ],
  markdown: {
    config(md) {
      const fence = md.renderer.rules.fence;
      md.renderer.rules.fence = (tokens, at, ...others) =>
        tokens[at].info.trim() === 'mermaid'
          ? `<MermaidDiagram code="${encodeURIComponent(tokens[at].content)}" />`
          : fence(tokens, at, ...others);
      // HTML on a page of a forge names pictures without "./"; the bundler would take that for a package.
      const html = md.renderer.rules.html_block;
      md.renderer.rules.html_block = (...given) =>
        html(...given).replaceAll(/\b(src|srcset)="(?![./]|https?:)/g, '$1="./');
    },
  },
  vite: { build: { chunkSizeWarningLimit: 4096 } },
  themeConfig: {
    search: { provider: 'local' },
    outline: [2, 3],
    nav: [
      { text: 'Guide', link: '/docs/guide/' },
      { text: 'Reference', link: '/docs/reference/contexts' },
      { text: 'API', link: '/api/' },
      { text: 'Formats', link: '/docs/format/store' },
    ],
    sidebar: [...sidebar, api],
  },
});
