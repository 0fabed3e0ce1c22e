import { z } from 'zod';
import { route } from '../exchange/route.ts';
import type { Route, InputObject } from '../exchange/route.ts';
import { blobRoutes } from './blobs.ts';
import { browseRoutes } from './browse.ts';
import { callRoutes } from './call.ts';
import { chatEventRoutes } from './chat-events.ts';
import { chatMessageRoutes, chatRedactionRoutes } from './chat-messages.ts';
import { chatRoutes } from './chats.ts';
import { contextRoutes } from './contexts.ts';
import { eventRoutes } from './events.ts';
import { healthRoutes, signInRoutes } from './health.ts';
import { maintainRoutes } from './maintain.ts';
import { patchRoutes, pinRoutes } from './patches.ts';
import { queueRoutes } from './queues.ts';
import { searchRoutes } from './search.ts';
import { sessionRoutes } from './sessions.ts';
import { streamRoutes } from './streams.ts';
import { turnRoutes } from './turns.ts';
import { workflowRoutes } from './workflows.ts';
import type { Needed } from '../../access/access.ts';
import { contextFaces, cxdbContextRoutes } from '../cxdb/context-routes.ts';
import { eventFaces } from '../cxdb/event-routes.ts';
import { fsRoutes } from '../cxdb/fs-routes.ts';
import { cxdbMetricsRoutes } from '../cxdb/metrics-route.ts';
import { registryRoutes } from '../cxdb/registry-routes.ts';
import { turnFaces } from '../cxdb/turn-routes.ts';
import { cxdbWriteRoutes, writeFaces } from '../cxdb/write-routes.ts';

/** Every route of the HTTP server, including the description of the routes. */
export function createRoutes(): readonly Route[] {
  const routes: Route[] = [
    ...cxdbRoutes,
    ...contextRoutes,
    ...turnRoutes,
    ...streamRoutes,
    ...patchRoutes,
    ...pinRoutes,
    ...workflowRoutes,
    ...chatRoutes,
    ...chatMessageRoutes,
    ...chatEventRoutes,
    ...chatRedactionRoutes,
    ...blobRoutes,
    ...queueRoutes,
    ...sessionRoutes,
    ...eventRoutes,
    ...searchRoutes,
    ...maintainRoutes,
    ...browseRoutes,
    ...signInRoutes,
    ...callRoutes,
    ...healthRoutes,
  ];
  routes.push(
    route.get('/openapi.json', {
      name: 'openApi',
      summary: 'This description',
      needs: 'nobody',
      answer: {
        what: 'OpenAPI 3.1',
        json: z.looseObject({ openapi: z.string() }),
        example: { openapi: '3.1.0' },
      },
      give: ({ request }) => describeApi(routes, request.service.version),
    }),
  );
  return routes;
}

/** Every route of a port for clients of cxdb. */
export function createCxdbRoutes(): readonly Route[] {
  return [...cxdbPortRoutes, ...blobRoutes.filter(({ method }) => method === 'get')];
}

export const errorJson: z.ZodType = z.strictObject({
  error: z.strictObject({
    code: z.string(),
    message: z.string(),
    data: z.record(z.string(), z.unknown()),
  }),
});

// The description of the API, generated from the schemas that check its input.

const ERROR_EXAMPLE = {
  error: { code: 'NOT_FOUND', message: 'there is no turn 9', data: { what: 'turn', id: '9' } },
};

export function describeApi(routes: readonly Route[], version: string): object {
  const paths: Record<string, Record<string, object>> = {};
  for (const route of routes) {
    const path = route.path.replaceAll(/:(\w+)(?:\{[^}]+\})?/g, '{$1}');
    paths[path] = { ...paths[path], [route.method]: describeRoute(route) };
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Quipu',
      version,
      description:
        'Durable memory for AI agents. Ids are decimal strings, hashes are 64 hex digits, times are milliseconds since 1970.',
    },
    paths,
    components: {
      securitySchemes: { token: { type: 'http', scheme: 'bearer' } },
      schemas: { Error: toSchema(errorJson, 'output') },
    },
  };
}

function describeRoute(route: Route): object {
  const { name, summary, needs, headers = {}, answer } = route;
  const parameters = [
    ...describeInput(route.params, 'path'),
    ...describeInput(route.query, 'query'),
    ...Object.entries(headers).map(([header, description]) => ({
      name: header,
      in: 'header',
      required: false,
      description,
      schema: { type: 'string' },
    })),
  ];
  const body = describeBody(route);
  return {
    operationId: name,
    summary,
    ...(needs !== 'nobody' && {
      description: describeNeed(needs),
      security: [{ token: [] }],
    }),
    ...(parameters.length > 0 && { parameters }),
    ...(body !== undefined && { requestBody: body }),
    responses: {
      [answer.status ?? 200]: {
        description: answer.what,
        ...(answer.json !== undefined && {
          content: {
            'application/json': {
              schema: toSchema(answer.json, 'output'),
              ...(answer.example !== undefined && { example: answer.example }),
            },
          },
        }),
        ...(answer.type !== undefined && { content: { [answer.type]: {} } }),
      },
      default: {
        description: 'What went wrong, as a stable code with its facts',
        content: {
          'application/json': {
            schema: { $ref: '#/components/schemas/Error' },
            example: ERROR_EXAMPLE,
          },
        },
      },
    },
  };
}

function describeInput(shape: InputObject, place: 'path' | 'query'): object[] {
  const { properties = {}, required = [] } = toSchema(shape, 'input') as {
    properties?: Record<string, { description?: string }>;
    required?: string[];
  };
  return Object.entries(properties).map(([name, { description, ...schema }]) => ({
    name,
    in: place,
    required: required.includes(name),
    ...(description !== undefined && { description }),
    schema,
  }));
}

function describeBody({ body }: Route): object | undefined {
  if (body === undefined) return undefined;
  const { json, bytes, optional = false, example } = body;
  return {
    required: !optional,
    ...(bytes !== undefined && { description: bytes }),
    content: {
      ...(json !== undefined && {
        'application/json': {
          schema: toSchema(json, 'input'),
          ...(example !== undefined && { example }),
        },
      }),
      ...(bytes !== undefined && { '*/*': {} }),
    },
  };
}

function toSchema(schema: z.ZodType, io: 'input' | 'output'): object {
  const { $schema: _, ...plain } = z.toJSONSchema(schema, { io, unrepresentable: 'any' });
  return plain;
}

function describeNeed(needs: Needed): string {
  if (needs !== 'handlers') return `Needs the scope \`${needs}\`.`;
  return 'Needs the scope `admin`, on a server that was started with --allow-handlers.';
}

/** On paths that only cxdb has. They come before ours: `/v1/contexts/search` is no id. */
const cxdbRoutes: readonly Route[] = [
  ...fsRoutes,
  ...registryRoutes,
  ...cxdbContextRoutes,
  ...cxdbWriteRoutes,
  ...cxdbMetricsRoutes,
];

/** On paths that are also ours. A request gets one of these when it is in cxdb's words. */
export const cxdbFaces: readonly Route[] = [...contextFaces, ...turnFaces, ...writeFaces];

const healthRoute = route.get('/healthz', {
  name: 'health',
  summary: 'Whether the server takes requests',
  needs: 'nobody',
  answer: { what: 'ok', type: 'text/plain' },
  async run({ engine }) {
    await engine.tips();
    return { type: 'text/plain', body: 'ok' };
  },
});

/** At a port for clients of cxdb alone, which know a base address and nothing else. */
const cxdbPortRoutes: readonly Route[] = [...cxdbRoutes, ...cxdbFaces, ...eventFaces, healthRoute];
