import { invalid } from '../base/errors.ts';
import { parsePlace } from '../base/place.ts';

/** The place of the tables: a database and the schema in it that holds them. */
export interface Address {
  /** The address for the client, with the password. Never show it. */
  readonly connection: string;
  /** The address for people, without the password. */
  readonly name: string;
  readonly schema: string;
}

const SCHEMA_DEFAULT = 'quipu';
/**
 * A schema name that matches needs no quotes anywhere, so a connection setting can hold it as it is. With `quipu_` in
 * front it is the name of a channel, which has 63 characters at most.
 */
const SCHEMA = /^[a-z_][a-z0-9_]{0,56}$/;
/** Schemas of PostgreSQL itself. */
const SYSTEM_SCHEMA = /^(?:pg_|information_schema$)/;

/** The name shown for a place: a database address without its password, anything else unchanged. */
export function nameOfPlace(place: string): string {
  return parsePlace(place).kind === 'database' ? parseAddress(place).name : place;
}

/**
 * Parses `postgres://user:password@host:port/database?schema=name`. Other parameters after the `?` are for the
 * client, such as `sslmode=require`. A message never repeats the address, since it may hold a password.
 */
export function parseAddress(text: string): Address {
  const url = toUrl(text);
  const schema = url.searchParams.get('schema') ?? SCHEMA_DEFAULT;
  if (!SCHEMA.test(schema)) {
    throw invalid('schema', 'must be made of lower-case letters, digits and _, 57 of them at most');
  }
  if (SYSTEM_SCHEMA.test(schema)) {
    throw invalid('schema', `must not be ${schema}, which PostgreSQL keeps for itself`);
  }
  url.searchParams.delete('schema');
  const suffix = schema === SCHEMA_DEFAULT ? '' : `?schema=${schema}`;
  const host = url.host || (url.searchParams.get('host') ?? 'localhost');
  return { connection: url.href, name: `postgres://${host}${url.pathname}${suffix}`, schema };
}

function toUrl(text: string): URL {
  if (parsePlace(text).kind === 'database' && URL.canParse(text)) return new URL(text);
  throw invalid(
    'database address',
    'cannot be read; write postgres://user:password@host:port/database, with %-escapes in the password',
  );
}
