import { z } from 'zod';
import type { Store } from '../../../store/store.ts';
import { allows } from '../../access/access.ts';
import { route } from '../exchange/route.ts';
import type { Reply, Route } from '../exchange/route.ts';

// The Model Context Protocol at /mcp: the layer above knows the protocol, this one who may use it.

export interface McpRequest {
  readonly store: Store;
  readonly allowWrites: boolean;
  readonly version: string;
  readonly body: unknown;
  readonly header: (name: string) => string | undefined;
}

/** Answers one message. The body of the answer is JSON. */
export type McpAnswer = (
  request: McpRequest,
) => Promise<{ readonly status: number; readonly body?: string }>;

export interface McpService {
  readonly answer: McpAnswer;
  /** Callers with the scope "write" may use the tools that write. */
  readonly allowWrites: boolean;
}

/** None where nobody answers MCP clients. */
export function mcpRoutes(service: McpService | undefined): readonly Route[] {
  if (service === undefined) return [];
  const { answer, allowWrites } = service;
  const needs = 'read';
  const refused = {
    needs,
    summary: '',
    answer: { what: 'Nothing: there are no streams and no sessions', status: 405 },
    run: (): Reply => ({ status: 405, headers: { Allow: 'POST' } }),
  } as const;
  return [
    route.post('/mcp', {
      needs,
      name: 'mcp',
      summary: 'One message of the Model Context Protocol',
      body: { json: z.unknown() },
      answer: { what: 'The answer of the protocol', json: z.unknown() },
      run: ({ body, request }) => {
        const { service, identity } = request;
        return answer({
          store: service.served.store,
          allowWrites: allowWrites && allows(identity, 'write'),
          version: service.version,
          body,
          header: (name) => request.header(name),
        });
      },
    }),
    route.get('/mcp', { ...refused, name: 'mcpStream' }),
    route.delete('/mcp', { ...refused, name: 'mcpEnd' }),
  ];
}
