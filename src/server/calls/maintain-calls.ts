import { z } from 'zod';
import type { Progress } from '../../engine/progress.ts';
import type { EraseOptions } from '../../context/contexts.ts';
import type { GcOptions } from '../../maintain/gc-report.ts';
import type { RetentionPolicy } from '../../maintain/retention.ts';
import type { BlobEraseOptions } from '../../store/blobs.ts';
import type { StreamHandler } from './call-handler.ts';
import type { Served } from './served.ts';
import { stream } from './answer.ts';
import type { NamedHandler } from './answer.ts';
import { count, hash, text, turnId } from './check-args.ts';
import { tellProgress } from './tell-progress.ts';

const amount = z.number().min(0);
const gcOptions = z.strictObject({
  dryRun: z.boolean().optional(),
  graceMs: amount.optional(),
  all: z.boolean().optional(),
}) as unknown as z.ZodType<GcOptions>;
const policy = z.strictObject({
  maxAgeMs: amount.optional(),
  maxBytes: amount.optional(),
  label: text.optional(),
  keep: count.optional(),
}) as unknown as z.ZodType<RetentionPolicy>;
const eraseOptions = z.strictObject({
  reason: text,
  everywhere: z.boolean().optional(),
});
const need = z.strictObject({ kind: text, id: text });
const blobEraseOptions = eraseOptions.extend({ letGo: z.array(need).max(100).optional() });
const erasure = z.strictObject({ line: count, text });
const path = z.string().min(1).max(4096);

/**
 * The calls that take longer than an answer may. Each is a stream of progress with the result at its end, so that
 * replies behind it need not wait.
 */
export function maintainCalls({ engine, store }: Served): NamedHandler<StreamHandler>[] {
  const long = <T>(
    method: string,
    args: z.ZodType<T>,
    work: (args: T, progress: Progress) => Promise<unknown>,
  ): NamedHandler<StreamHandler> =>
    stream(method, { needs: 'admin', args }, (given) =>
      tellProgress((progress) => work(given, progress)),
    );
  const none = z.tuple([]);
  return [
    long('engine.checkpoint', none, () => engine.checkpoint()),
    long('engine.reindex', none, (_, progress) => engine.reindex(progress)),
    long('upkeep.check', z.tuple([z.boolean()]), ([repair], progress) =>
      store.maintain.verify({ repair, progress }),
    ),
    long('upkeep.eraseBlob', z.tuple([hash]), ([blob]) => engine.upkeep.eraseBlob(blob)),
    long('upkeep.backup', z.tuple([path]), ([to], progress) => store.maintain.backup(to, progress)),
    long('upkeep.eraseLines', z.tuple([text, z.array(erasure)]), ([log, erasures]) =>
      engine.upkeep.eraseLines(log, erasures),
    ),
    long('maintain.gc', z.tuple([gcOptions]), ([options], progress) =>
      store.maintain.gc({ ...options, progress }),
    ),
    long('maintain.retain', z.tuple([policy, z.boolean()]), ([rules, dryRun]) =>
      store.maintain.retain(rules, { dryRun }),
    ),
    long(
      'contexts.erase',
      z.tuple([turnId, eraseOptions as unknown as z.ZodType<EraseOptions>]),
      ([turn, options]) => store.contexts.erase(turn, options),
    ),
    long(
      'blobs.erase',
      z.tuple([text, blobEraseOptions as unknown as z.ZodType<BlobEraseOptions>]),
      ([ref, options]) => store.blobs.erase(ref, options),
    ),
  ];
}
