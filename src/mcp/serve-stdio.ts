import { once } from 'node:events';
import process from 'node:process';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import type { Store } from '../store/store.ts';
import { createMcpServer } from './create-server.ts';
import type { McpOptions } from './create-server.ts';

/** Answers the client at standard input until it goes away or `signal` aborts. */
export async function serveStdio(
  store: Store,
  options: McpOptions,
  signal: AbortSignal,
): Promise<void> {
  const server = createMcpServer(store, options);
  await server.connect(new StdioServerTransport());
  const ends = new AbortController();
  const either = AbortSignal.any([signal, ends.signal]);
  process.stdin.once('end', () => ends.abort());
  process.stdin.once('close', () => ends.abort());
  // A client that reads no more is gone.
  process.stdout.once('error', () => ends.abort());
  if (!either.aborted) await once(either, 'abort');
  await server.close();
}
