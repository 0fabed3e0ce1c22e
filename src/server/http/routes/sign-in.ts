import { z } from 'zod';
import { QuipuError, invalid } from '../../../base/errors.ts';
import { bearerOf, jsonReply, route } from '../exchange/route.ts';
import type { Route } from '../exchange/route.ts';

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
