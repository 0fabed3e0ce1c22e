import { z } from 'zod';
import { defineRoute, jsonReply } from '../exchange/route.ts';
import type { HttpWorld } from '../exchange/http-world.ts';
import type { Reply, Route } from '../exchange/route.ts';

const health = z.strictObject({
  status: z.enum(['ok', 'stopping', 'failing']),
  version: z.string(),
});
const answer = {
  status: 200,
  what: 'It is; 503 when it is not',
  json: health,
  example: { status: 'ok', version: '0.1.0' },
} as const;

export const healthRoutes: readonly Route[] = [
  defineRoute({
    method: 'get',
    path: '/healthz',
    name: 'health',
    summary: 'Whether the server takes requests; the same as /healthz/ready',
    needs: 'nobody',
    answer,
    run: ({ request }) => ready(request.world),
  }),
  defineRoute({
    method: 'get',
    path: '/healthz/ready',
    name: 'ready',
    summary: 'Whether the server takes requests and its store answers',
    needs: 'nobody',
    answer,
    run: ({ request }) => ready(request.world),
  }),
  defineRoute({
    method: 'get',
    path: '/healthz/live',
    name: 'live',
    summary: 'Whether the process answers at all',
    needs: 'nobody',
    answer,
    run: ({ request }) => say(request.world, 'ok'),
  }),
  defineRoute({
    method: 'get',
    path: '/metrics',
    name: 'metrics',
    summary: 'Figures for Prometheus',
    needs: 'read',
    answer: { status: 200, what: 'The text format of Prometheus', type: 'text/plain' },
    async run({ request: { world } }) {
      return { type: world.metrics.contentType, body: await world.metrics.text() };
    },
  }),
];

async function ready(world: HttpWorld): Promise<Reply> {
  if (world.stopping.aborted) return say(world, 'stopping');
  try {
    await world.served.engine.tips();
    return say(world, 'ok');
  } catch (error) {
    world.log.error({ err: error }, 'the store does not answer');
    return say(world, 'failing');
  }
}

function say(world: HttpWorld, status: z.output<typeof health>['status']): Reply {
  const headers = { 'Cache-Control': 'no-store' };
  return jsonReply(
    { status, version: world.version },
    { status: status === 'ok' ? 200 : 503, headers },
  );
}
