import { quipuVerb } from '../kit/command.ts';
import type { QuipuVerb } from '../kit/command.ts';
import { option } from '../kit/verb.ts';
import { readVersion } from '../kit/version.ts';

export const mcp: QuipuVerb = quipuVerb({
  name: 'mcp',
  summary: 'Let an MCP client search and read the store, over standard input and output.',
  more: [
    'A client starts this command by itself. It ends when its standard input does.',
    'For clients on other machines: quipu serve --mcp, which answers at /mcp under its tokens.',
  ].join('\n'),
  examples: ['quipu mcp < /dev/null', 'quipu mcp --allow-writes --store ./.quipu < /dev/null'],
  takes: [option('--allow-writes', 'also offer the tools that fork threads and append notes')],
  async run(io, { allowWrites = false }) {
    const signal = io.shell.catchInterrupt();
    await using store = await (allowWrites ? io.createStore() : io.openStore());
    // Few commands need the protocol, so it is loaded here.
    const { serveStdio } = await import('../../mcp/serve-stdio.ts');
    await serveStdio(store, { allowWrites, version: readVersion() }, signal);
  },
});
