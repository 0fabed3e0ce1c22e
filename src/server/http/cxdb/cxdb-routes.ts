import { route } from '../exchange/route.ts';
import type { Route } from '../exchange/route.ts';
import { contextFaces, cxdbContextRoutes } from './context-routes.ts';
import { eventFaces } from './event-routes.ts';
import { fsRoutes } from './fs-routes.ts';
import { cxdbMetricsRoutes } from './metrics-route.ts';
import { registryRoutes } from './registry-routes.ts';
import { turnFaces } from './turn-routes.ts';
import { cxdbWriteRoutes, writeFaces } from './write-routes.ts';

/** On paths that only cxdb has. They come before ours: `/v1/contexts/search` is no id. */
export const cxdbRoutes: readonly Route[] = [
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
export const cxdbPortRoutes: readonly Route[] = [
  ...cxdbRoutes,
  ...cxdbFaces,
  ...eventFaces,
  healthRoute,
];
