import { expect, it } from 'vitest';
import type { History, Said } from './read-history.ts';
import { toHtml, toMarkdown } from './to-page.ts';

async function pageOf(
  blocks: readonly unknown[],
  { context = {}, head = {}, what = 'message' }: Record<string, unknown> = {},
): Promise<{ readonly markdown: string; readonly html: string }> {
  const history = {
    context: { id: 1n, ...(context as object) },
    source: { title: 'Agent' },
    session: 's`1\n# s',
    cwd: '/w](x)\n# folder',
    model: 'm',
    turns: async function* () {
      yield { what, role: 'tool', at: 0, head, blocks } as unknown as Said;
    },
  } as unknown as History;
  let [markdown, html] = ['', ''];
  for await (const piece of toMarkdown(history)) markdown += piece;
  for await (const piece of toHtml(history)) html += piece;
  return { markdown, html };
}

it('lets no title, folder, name or type of a picture leave its place', async () => {
  const evil = 'x` ](https://evil.example/a)\n\n# <b>forged</b>';
  const { markdown, html } = await pageOf(
    [
      { is: 'call', id: '', name: evil, input: 1 },
      { is: 'image', mime: 'image/png;base64,AA) ![](https://evil.example/b', data: '' },
      { is: 'image', mime: 'image/png', data: 'AA) ![](https://evil.example/c' },
      { is: 'image', mime: 'image/png', data: 'AAAA' },
    ],
    { context: { title: evil }, head: { kind: evil }, what: 'marker' },
  );
  expect(markdown.match(/^# .*$/gm)).toEqual([
    '# x\\` \\]\\(https://evil.example/a\\) \\# \\<b\\>forged\\</b\\>',
  ]);
  expect(markdown.match(/^## .*$/gm)).toHaveLength(1);
  // Code has no links.
  expect(markdown.match(/!\[.*$/gm)).toEqual([
    '![](https://evil.example/b`',
    '![picture](data:image/png;base64,AAAA)',
  ]);
  expect(html.match(/<(?:b|img)[ >].*$/gm)).toEqual([
    '<img alt="picture" src="data:image/png;base64,AAAA">',
  ]);
  expect(markdown).toContain('- folder: `/w](x) # folder`\n');
  expect(markdown).toContain('- session: ``s`1 # s``\n');
  expect(markdown).toContain('Call ``x` ](https://evil.example/a) # <b>forged</b>``\n');
  expect(markdown + html).not.toContain('evil.example/c');
});

it('puts a fence around a text with any number of fences in it', async () => {
  const text = '` '.repeat(200_000);
  const { markdown } = await pageOf([{ is: 'result', text, images: [] }]);
  expect(markdown).toContain(`\`\`\`\n${text}\n\`\`\``);
});
