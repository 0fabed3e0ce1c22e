import { z } from 'zod';
import type { Needed } from '../../access/access.ts';
import { errorJson } from '../exchange/schemas.ts';
import type { InputObject, Route } from '../exchange/route.ts';

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
