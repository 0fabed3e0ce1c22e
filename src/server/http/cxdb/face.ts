import { z } from 'zod';
import { isQuipuError } from '../../../base/errors.ts';
import { errorReply, toErrorJson, jsonReply } from '../exchange/route.ts';
import type { Reply } from '../exchange/route.ts';

// Some paths are both ours and cxdb's, and the two mean different things by them. On the port for its clients all is
// cxdb's. On our own port a request is in its words when it carries the header of its clients, or a key of the query
// that only cxdb has. Everything else there is ours, and as strict as ever.

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

const CONFLICT = 409;

/** An error in cxdb's form. A turn that is missing when something is written on it is a conflict there. */
export function cxdbErrorOf(
  error: unknown,
  isWrite: boolean,
): { status: number; error: { code: number; message: string } } {
  const { status: usual = 500 } = errorReply(error);
  const isParent = isWrite && isQuipuError(error, 'NOT_FOUND') && error.data.what === 'turn';
  const status = isParent ? CONFLICT : usual;
  return { status, error: { code: status, message: toErrorJson(error).error.message } };
}

export function cxdbErrorReply(error: unknown, isWrite: boolean): Reply {
  const { status, error: told } = cxdbErrorOf(error, isWrite);
  return jsonReply({ error: told }, { status, headers: errorReply(error).headers ?? {} });
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
