import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { describeApi } from './open-api.ts';
import { createRoutes } from './create-routes.ts';

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
