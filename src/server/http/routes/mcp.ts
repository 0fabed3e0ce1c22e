import { z } from 'zod';
import type { Store } from '../../../store/store.ts';
import { allows } from '../../access/access.ts';
import { defineRoute } from '../exchange/route.ts';
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

export function mcpRoutes({ answer, allowWrites }: McpService): readonly Route[] {
  const at = { path: '/mcp', needs: 'read' } as const;
  const refuse = (): Reply => ({ status: 405, headers: { Allow: 'POST' } });
  const words = { what: 'Nothing: there are no streams and no sessions', status: 405 };
  return [
    defineRoute({
      ...at,
      method: 'post',
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
    defineRoute({
      ...at,
      method: 'get',
      name: 'mcpStream',
      summary: '',
      answer: words,
      run: refuse,
    }),
    defineRoute({
      ...at,
      method: 'delete',
      name: 'mcpEnd',
      summary: '',
      answer: words,
      run: refuse,
    }),
  ];
}
