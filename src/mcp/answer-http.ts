import { WebStandardStreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js';
import { invalid } from '../base/errors.ts';
import type { McpAnswer } from '../server/http/routes/mcp.ts';
import { createMcpServer } from './create-server.ts';

const PASSED_ON = ['accept', 'content-type', 'mcp-protocol-version'];

/**
 * Answers one message of streamable HTTP. There are no sessions: each request shows its own token, and leaves nothing
 * behind in the server.
 */
export const answerHttp: McpAnswer = async ({ store, allowWrites, version, body, header }) => {
  if (Array.isArray(body)) throw invalid('body', 'is a list; send one message in each request');
  const server = createMcpServer(store, { allowWrites, version });
  const transport = new WebStandardStreamableHTTPServerTransport({ enableJsonResponse: true });
  await server.connect(transport as Parameters<typeof server.connect>[0]);
  try {
    const headers = new Headers();
    for (const name of PASSED_ON) {
      const value = header(name);
      if (value !== undefined) headers.set(name, value);
    }
    const request = new Request('http://localhost/mcp', { method: 'POST', headers });
    const response = await transport.handleRequest(request, { parsedBody: body });
    const text = await response.text();
    return { status: response.status, ...(text !== '' && { body: text }) };
  } finally {
    await server.close();
  }
};
