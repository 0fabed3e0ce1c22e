import { expect, it, describe } from 'vitest';
import { cxdbFaces, createRoutes, describeApi } from './create-routes.ts';
import { readFileSync } from 'node:fs';

const all = [...createRoutes(), ...cxdbFaces];
const lines = (some: readonly { method: string; path: string; needs: string }[]): string[] =>
  some.map(({ method, path, needs }) => `${needs} ${method} ${path}`).toSorted();

it('asks for a scope at every route but those that tell nothing of the store', () => {
  expect(lines(all.filter(({ needs }) => needs === 'nobody'))).toEqual([
    'nobody get /healthz',
    'nobody get /healthz/live',
    'nobody get /healthz/ready',
    'nobody get /openapi.json',
    'nobody post /v1/sign-in',
  ]);
});

it('lets nobody write with the scope "read"', () => {
  const changing = all.filter(({ method }) => method !== 'get');
  const open = changing.filter(({ needs }) => needs === 'read' || needs === 'nobody');
  expect(lines(open)).toEqual([
    // A code is changed into the token of whoever asked for the code.
    'nobody post /v1/sign-in',
    // Each method that is called there has a scope of its own.
    'read post /v1/call/:method',
    'read post /v1/sign-in/code',
  ]);
});

it('keeps upkeep and programs for the scope "admin"', () => {
  const high = all.filter(({ needs }) => needs === 'admin' || needs === 'handlers');
  expect(lines(high)).toEqual([
    'admin delete /v1/queues/:name/consumers/:consumer',
    'admin post /v1/blobs/:ref/erase',
    'admin post /v1/chats/retain',
    'admin post /v1/maintain/backup',
    'admin post /v1/maintain/checkpoint',
    'admin post /v1/maintain/gc',
    'admin post /v1/maintain/reindex',
    'admin post /v1/maintain/retain',
    'admin post /v1/maintain/verify',
    'admin post /v1/turns/:id/erase',
    'handlers put /v1/queues/:name/consumers/:consumer',
  ]);
});

interface Operation {
  readonly operationId: string;
  readonly parameters?: readonly { readonly name: string; readonly in: string }[];
  readonly responses: Readonly<Record<string, object>>;
}

const routes = createRoutes();
const api = describeApi(routes, '1.2.3') as {
  readonly openapi: string;
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
};

describe('the description of the API', () => {
  it('has every route with all that its path names, and nothing else', () => {
    expect(api.openapi).toBe('3.1.0');
    const described = Object.entries(api.paths).flatMap(([path, operations]) =>
      Object.entries(operations).map(([method, { operationId, parameters = [] }]) => {
        const named = parameters.filter((parameter) => parameter.in === 'path');
        expect(named.map(({ name }) => `{${name}}`)).toEqual(path.match(/\{\w+\}/g) ?? []);
        return `${method} ${path} ${operationId}`;
      }),
    );
    const expected = routes.map(
      ({ method, path, name }) =>
        `${method} ${path.replaceAll(/:(\w+)(?:\{[^}]+\})?/g, '{$1}')} ${name}`,
    );
    expect(described.toSorted()).toEqual(expected.toSorted());
    expect(new Set(routes.map(({ name }) => name)).size).toBe(routes.length);
  });

  it('is JSON without a reference that leads nowhere', () => {
    const text = JSON.stringify(api);
    const refs = [...text.matchAll(/"\$ref":"([^"]+)"/g)].map(([, ref]) => ref);
    expect([...new Set(refs)]).toEqual(['#/components/schemas/Error']);
  });

  it('has examples that its own schemas take', () => {
    const wrong = routes.flatMap(({ name, body, answer }) => {
      const pairs = [
        [body?.json, body?.example],
        [answer.json, answer.example],
      ] as const;
      return pairs.flatMap(([schema, example]) => {
        const problem = schema?.safeParse(example).error?.message;
        return problem === undefined ? [] : [`${name}: ${problem}`];
      });
    });
    expect(wrong).toEqual([]);
  });

  it('says what comes back from every route', () => {
    const silent = routes.filter(
      ({ answer }) =>
        answer.json === undefined && answer.type === undefined && answer.status !== 204,
    );
    expect(silent).toEqual([]);
  });

  it('is also written for people, with the scope of each route', () => {
    const text = readFileSync(
      new URL('../../../../docs/reference/http.md', import.meta.url),
      'utf8',
    );
    const rows = [...text.matchAll(/^\| `([A-Z]+ \/\S*)` \| ([\w ]+) \|/gm)];
    const written = rows.map(([, route, scope]) => `${route} ${scope}`);
    const scopes = {
      nobody: 'none',
      read: 'read',
      write: 'write',
      admin: 'admin',
      handlers: 'handlers',
    };
    const expected = routes.map(({ method, path, name, needs }) => {
      const scope = name === 'call' ? 'its own' : scopes[needs];
      return `${method.toUpperCase()} ${path} ${scope}`;
    });
    expect(written.toSorted()).toEqual(expected.toSorted());
  });
});
