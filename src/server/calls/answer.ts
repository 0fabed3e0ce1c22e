import type { z } from 'zod';
import type { Needed } from '../access/access.ts';
import type { AnswerHandler, Caller, StreamHandler } from './call-handler.ts';
import { parseArgs } from './check-args.ts';

export type NamedHandler<H> = readonly [method: string, handler: H];

interface Rules<T> {
  readonly needs: Needed;
  /** The schema of the array of arguments. */
  readonly args: z.ZodType<T>;
}

/** A verb with one answer. The verb runs only with arguments that fit the schema. */
export function answer<T>(
  method: string,
  { needs, args: schema }: Rules<T>,
  run: (args: T, caller: Caller) => Promise<unknown>,
): NamedHandler<AnswerHandler> {
  const handler: AnswerHandler = {
    kind: 'answer',
    needs,
    run: async (args, caller) => run(parseArgs(schema, args, method), caller),
  };
  return [method, handler];
}

/** Like `answer`, for a verb with many answers. */
export function stream<T>(
  method: string,
  { needs, args: schema }: Rules<T>,
  run: (args: T, caller: Caller) => AsyncIterable<unknown>,
): NamedHandler<StreamHandler> {
  const handler: StreamHandler = {
    kind: 'stream',
    needs,
    run: (args, caller) => run(parseArgs(schema, args, method), caller),
  };
  return [method, handler];
}
