import { z } from 'zod';
import { jsonReply, route, bearerOf } from '../exchange/route.ts';
import type { Reply, Route, HttpService } from '../exchange/route.ts';
import { QuipuError, invalid } from '../../../base/errors.ts';

const health = z.strictObject({
  status: z.enum(['ok', 'stopping', 'failing']),
  version: z.string(),
});
const answer = {
  what: 'It is; 503 when it is not',
  json: health,
  example: { status: 'ok', version: '0.1.0' },
} as const;

const CHECKS = [
  ['/healthz', 'health', 'Whether the server takes requests; the same as /healthz/ready', ready],
  ['/healthz/ready', 'ready', 'Whether the server takes requests and its store answers', ready],
  ['/healthz/live', 'live', 'Whether the process answers at all', live],
] as const;

export const healthRoutes: readonly Route[] = [
  ...CHECKS.map(([path, name, summary, check]) =>
    route.get(path, {
      name,
      summary,
      needs: 'nobody',
      answer,
      run: ({ request }) => check(request.service),
    }),
  ),
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

function live(service: HttpService): Reply {
  return say(service, 'ok');
}

function say(service: HttpService, status: z.output<typeof health>['status']): Reply {
  const headers = { 'Cache-Control': 'no-store' };
  return jsonReply(
    { status, version: service.version },
    { status: status === 'ok' ? 200 : 503, headers },
  );
}

// A browser that a command opens gets a code in its address, and exchanges it for the token of the command.

export const signInRoutes: readonly Route[] = [
  route.post('/v1/sign-in/code', {
    name: 'offerCode',
    summary: 'A code that gives your token once, within a minute, to whoever shows it',
    needs: 'read',
    answer: {
      status: 201,
      what: 'The code',
      json: z.strictObject({ code: z.string(), expiresAt: z.number() }),
      example: { code: 'h3JzGm0cWq', expiresAt: 1_790_000_060_000 },
    },
    run({ request }) {
      const token = bearerOf(request.header('authorization'));
      if (token === undefined) throw invalid('token', 'is missing: without one no code is needed');
      const headers = { 'Cache-Control': 'no-store' };
      return jsonReply(request.service.signIn.offer(token), { status: 201, headers });
    },
  }),

  route.post('/v1/sign-in', {
    name: 'signIn',
    summary: 'The token of a one-time code, which is sent as the bearer',
    needs: 'nobody',
    answer: {
      what: 'The token',
      json: z.strictObject({ token: z.string() }),
      example: { token: 'quipu_h3JzGm0cWq' },
    },
    run({ request }) {
      const token = request.service.signIn.take(bearerOf(request.header('authorization')) ?? '');
      if (token === undefined) {
        const message = 'the code was used, or is too old; run "quipu ui" again';
        throw new QuipuError('UNAUTHORIZED', message, {});
      }
      return jsonReply({ token }, { headers: { 'Cache-Control': 'no-store' } });
    },
  }),
];
