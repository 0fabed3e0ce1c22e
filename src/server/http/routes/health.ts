import { z } from 'zod';
import { jsonReply, route } from '../exchange/route.ts';
import type { HttpService } from '../exchange/http-service.ts';
import type { Reply, Route } from '../exchange/route.ts';

const health = z.strictObject({
  status: z.enum(['ok', 'stopping', 'failing']),
  version: z.string(),
});
const answer = {
  what: 'It is; 503 when it is not',
  json: health,
  example: { status: 'ok', version: '0.1.0' },
} as const;

export const healthRoutes: readonly Route[] = [
  route.get('/healthz', {
    name: 'health',
    summary: 'Whether the server takes requests; the same as /healthz/ready',
    needs: 'nobody',
    answer,
    run: ({ request }) => ready(request.service),
  }),
  route.get('/healthz/ready', {
    name: 'ready',
    summary: 'Whether the server takes requests and its store answers',
    needs: 'nobody',
    answer,
    run: ({ request }) => ready(request.service),
  }),
  route.get('/healthz/live', {
    name: 'live',
    summary: 'Whether the process answers at all',
    needs: 'nobody',
    answer,
    run: ({ request }) => say(request.service, 'ok'),
  }),
  route.get('/metrics', {
    name: 'metrics',
    summary: 'Figures for Prometheus',
    answer: { what: 'The text format of Prometheus', type: 'text/plain' },
    async run({ request: { service } }) {
      return { type: service.metrics.contentType, body: await service.metrics.text() };
    },
  }),
];

async function ready(service: HttpService): Promise<Reply> {
  if (service.stopping.aborted) return say(service, 'stopping');
  try {
    await service.served.engine.tips();
    return say(service, 'ok');
  } catch (error) {
    service.log.error({ err: error }, 'the store does not answer');
    return say(service, 'failing');
  }
}

function say(service: HttpService, status: z.output<typeof health>['status']): Reply {
  const headers = { 'Cache-Control': 'no-store' };
  return jsonReply(
    { status, version: service.version },
    { status: status === 'ok' ? 200 : 503, headers },
  );
}
