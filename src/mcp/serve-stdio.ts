import { once } from 'node:events';
import process from 'node:process';
import { Readable } from 'node:stream';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { ErrorCode } from '@modelcontextprotocol/sdk/types.js';
import { LineSplitter } from '../base/json-lines.ts';
import type { Store } from '../store/store.ts';
import { createMcpServer } from './create-server.ts';
import type { McpOptions } from './create-server.ts';

/** The transport of the SDK goes deaf at a line of 10 MiB. */
const LINE_BYTES_MAX = 8_388_608;

/** Answers the client at standard input until it goes away or `signal` aborts. */
export async function serveStdio(
  store: Store,
  options: McpOptions,
  signal: AbortSignal,
): Promise<void> {
  const server = createMcpServer(store, options);
  const ends = new AbortController();
  server.onclose = () => ends.abort();
  await server.connect(new StdioServerTransport(Readable.from(boundedLines(process.stdin))));
  const either = AbortSignal.any([signal, ends.signal]);
  process.stdin.once('end', () => ends.abort());
  process.stdin.once('close', () => ends.abort());
  // A client that reads no more is gone.
  process.stdout.once('error', () => ends.abort());
  if (!either.aborted) await once(either, 'abort');
  await server.close();
}

/** Passes whole lines on, and answers one that is too long with an error. */
async function* boundedLines(input: AsyncIterable<Uint8Array>): AsyncGenerator<Buffer> {
  const lines = new LineSplitter(0, LINE_BYTES_MAX);
  for await (const piece of input) {
    for (const { bytes } of lines.take(piece)) {
      if (bytes === undefined) refuseLine();
      else yield Buffer.concat([bytes, LINE_BREAK]);
    }
  }
}

const LINE_BREAK = Buffer.from('\n');

/** The id of the request is somewhere in the line, and nobody has read it. */
function refuseLine(): void {
  const message = `a message has more than ${LINE_BYTES_MAX} bytes: send less at once`;
  const error = { code: ErrorCode.InvalidRequest, message };
  process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', id: null, error })}\n`);
}
