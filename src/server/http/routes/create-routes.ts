import { z } from 'zod';
import { describeApi } from './open-api.ts';
import { route } from '../exchange/route.ts';
import type { Route } from '../exchange/route.ts';
import { cxdbPortRoutes, cxdbRoutes } from '../cxdb/cxdb-routes.ts';
import { blobRoutes } from './blobs.ts';
import { browseRoutes } from './browse.ts';
import { callRoutes } from './call.ts';
import { chatEventRoutes } from './chat-events.ts';
import { chatMessageRoutes, chatRedactionRoutes } from './chat-messages.ts';
import { chatRoutes } from './chats.ts';
import { contextRoutes } from './contexts.ts';
import { eventRoutes } from './events.ts';
import { healthRoutes } from './health.ts';
import { maintainRoutes } from './maintain.ts';
import { patchRoutes, pinRoutes } from './patches.ts';
import { queueRoutes } from './queues.ts';
import { searchRoutes } from './search.ts';
import { sessionRoutes } from './sessions.ts';
import { signInRoutes } from './sign-in.ts';
import { streamingRoutes } from './streaming.ts';
import { streamRoutes } from './streams.ts';
import { turnRoutes } from './turns.ts';
import { workflowRoutes } from './workflows.ts';

/** Every route of the HTTP server, including the description of the routes. */
export function createRoutes(): readonly Route[] {
  const routes: Route[] = [
    ...cxdbRoutes,
    ...contextRoutes,
    ...turnRoutes,
    ...streamingRoutes,
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
