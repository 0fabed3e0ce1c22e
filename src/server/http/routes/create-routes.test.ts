import { expect, it } from 'vitest';
import { cxdbFaces } from '../cxdb/cxdb-routes.ts';
import { createRoutes } from './create-routes.ts';

const routes = [...createRoutes(), ...cxdbFaces];
const lines = (some: readonly { method: string; path: string; needs: string }[]): string[] =>
  some.map(({ method, path, needs }) => `${needs} ${method} ${path}`).toSorted();

it('asks for a scope at every route but those that tell nothing of the store', () => {
  expect(lines(routes.filter(({ needs }) => needs === 'nobody'))).toEqual([
    'nobody get /healthz',
    'nobody get /healthz/live',
    'nobody get /healthz/ready',
    'nobody get /openapi.json',
    'nobody post /v1/sign-in',
  ]);
});

it('lets nobody write with the scope "read"', () => {
  const changing = routes.filter(({ method }) => method !== 'get');
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
  const high = routes.filter(({ needs }) => needs === 'admin' || needs === 'handlers');
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
