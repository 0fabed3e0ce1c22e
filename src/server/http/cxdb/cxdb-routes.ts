import type { Route } from '../exchange/route.ts';
import { contextFaces, cxdbContextRoutes } from './context-routes.ts';
import { fsRoutes } from './fs-routes.ts';
import { cxdbMetricsRoute } from './metrics-route.ts';
import { registryRoutes } from './registry-routes.ts';
import { turnFaces } from './turn-routes.ts';
import { cxdbWriteRoutes, writeFaces } from './write-routes.ts';

/** On paths that only cxdb has. They come before ours: `/v1/contexts/search` is no id. */
export const cxdbRoutes: readonly Route[] = [
  ...fsRoutes,
  ...registryRoutes,
  ...cxdbContextRoutes,
  ...cxdbWriteRoutes,
  cxdbMetricsRoute,
];

/** On paths that are also ours. A request gets one of these when it is in cxdb's words. */
export const cxdbFaces: readonly Route[] = [...contextFaces, ...turnFaces, ...writeFaces];
