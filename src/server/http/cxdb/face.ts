import { z } from 'zod';

// Some paths are both ours and cxdb's, and the two mean different things by them. A request is in cxdb's words when it
// carries the header of its clients, or a key of the query that only cxdb has. Everything else is ours, and as strict as
// ever.

/** The header with the name that a client of cxdb gives itself. */
export const CLIENT_TAG = 'x-cxdb-client-tag';

/** Keys of a query that none of our routes on the shared paths has. */
const KEYS: ReadonlySet<string> = new Set([
  'tag',
  'include_provenance',
  'include_lineage',
  'view',
  'before_turn_id',
  'turn_id',
  'type_hint_mode',
  'as_type_id',
  'as_type_version',
  'include_unknown',
  'bytes_render',
  'u64_format',
  'enum_render',
  'time_render',
  'string_limit',
]);

export function speaksCxdb(
  header: (name: string) => string | undefined,
  query: Readonly<Record<string, unknown>>,
): boolean {
  return header(CLIENT_TAG) !== undefined || Object.keys(query).some((key) => KEYS.has(key));
}

/** A number of a query. As in cxdb, one that is none counts as absent; `most` bounds it here. */
export function lenientCount(byDefault: number, most: number): z.ZodType<number> {
  return z
    .string()
    .optional()
    .transform((text) => {
      const count = text !== undefined && /^\d{1,15}$/.test(text) ? Number(text) : byDefault;
      return Math.min(count, most);
    })
    .describe(`Default ${byDefault}, at most ${most}`) as unknown as z.ZodType<number>;
}

/** `1` or `true`. */
export function lenientFlag(byDefault: boolean): z.ZodType<boolean> {
  return z
    .string()
    .optional()
    .transform((text) => (text === undefined ? byDefault : /^(?:1|true)$/i.test(text)))
    .describe(`1 or 0, default ${byDefault ? 1 : 0}`) as unknown as z.ZodType<boolean>;
}
