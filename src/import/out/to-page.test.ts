import { expect, it } from 'vitest';
import type { History, Said } from './read-history.ts';
import { toMarkdown } from './to-page.ts';

it('puts a fence around a text with any number of fences in it', async () => {
  const text = '` '.repeat(200_000);
  const said = {
    what: 'message',
    role: 'tool',
    at: 0,
    head: {},
    blocks: [{ is: 'result', text, images: [] }],
  } as unknown as Said;
  const history = {
    context: { id: 1n },
    turns: async function* () {
      yield said;
    },
  } as unknown as History;
  let page = '';
  for await (const piece of toMarkdown(history)) page += piece;
  expect(page).toContain(`\`\`\`\n${text}\n\`\`\``);
});
