import { checkWhole } from '../../base/check-value.ts';
import { QuipuError, invalid, isQuipuError } from '../../base/errors.ts';
import { kindOf } from '../../base/text.ts';
import { checkName, checkRole } from '../home/documents.ts';
import { ROUNDS_MAX } from '../home/workflows-home.ts';
import { END_ROLE } from '../home/nodes.ts';
import { checkSchema, type JsonSchema } from './json-schema.ts';

export interface RoleDescriptor {
  readonly description?: string;
  /** A shell command; it reads the context from standard input. */
  readonly command?: string;
  /** A registered workflow that does this step as a thread of its own. */
  readonly workflow?: string;
  /** The output of this role is a summary of everything before. */
  readonly compact?: true;
  /** The schema of `meta`. */
  readonly schema?: JsonSchema;
  /** Default ten minutes. */
  readonly timeoutMs?: number;
}

/** A bundle's description of itself. */
export interface Descriptor {
  readonly name: string;
  readonly description?: string;
  readonly maxRounds?: number;
  readonly roles: Readonly<Record<string, RoleDescriptor>>;
}

/** The facts about a module that were seen when it was loaded. */
export interface LoadedModule {
  readonly descriptor: unknown;
  /** Names of the functions that its `roles` has. */
  readonly functions: readonly string[];
  readonly hasRun: boolean;
  /** The target of each role, without the conditions; null without a table. */
  readonly table: Readonly<Record<string, unknown>> | null;
}

const START_ROLE = '__start__';
const ROLE_FIELDS = ['description', 'command', 'workflow', 'compact', 'schema', 'timeoutMs'];
const FIELDS = ['name', 'description', 'maxRounds', 'roles'];
const TIMEOUT_MS_MAX = 86_400_000;

/** Finds every error that can be known before anything runs. */
export function checkModule(module: LoadedModule): Descriptor {
  try {
    const descriptor = checkDescriptor(module);
    if (module.hasRun === (module.table !== null)) {
      throw invalid('the module', 'exports a function `run` or an object `table`, one of them');
    }
    if (module.table !== null) checkTable(module.table, descriptor);
    return descriptor;
  } catch (error) {
    if (!isQuipuError(error, 'INVALID')) throw error;
    throw new QuipuError('INVALID', `the bundle cannot be used: ${error.message}`, {
      what: 'bundle',
    });
  }
}

function checkDescriptor({ descriptor, functions }: LoadedModule): Descriptor {
  const given = asObject(descriptor, 'descriptor', FIELDS);
  const roles = asObject(given['roles'], 'descriptor.roles');
  const names = Object.keys(roles);
  if (names.length === 0) throw invalid('descriptor.roles', 'is empty');
  for (const name of names) checkRoleOf(checkRole(name), roles[name], functions.includes(name));
  const stray = functions.find((name) => !names.includes(name));
  if (stray !== undefined) throw invalid('roles', `has ${stray}, which descriptor.roles does not`);
  if (given['maxRounds'] !== undefined) {
    checkWhole(given['maxRounds'], 'descriptor.maxRounds', 1, ROUNDS_MAX);
  }
  checkOptionalText(given['description'], 'descriptor.description');
  checkName(given['name']);
  return descriptor as Descriptor;
}

function checkRoleOf(name: string, value: unknown, isFunction: boolean): void {
  const what = `descriptor.roles.${name}`;
  const role = asObject(value, what, ROLE_FIELDS);
  for (const field of ['description', 'command', 'workflow']) {
    checkOptionalText(role[field], `${what}.${field}`);
  }
  const ways = [isFunction, role['command'] !== undefined, role['workflow'] !== undefined];
  if (ways.filter(Boolean).length !== 1) {
    throw invalid(
      what,
      'needs exactly one of these: a function in `roles`, a command, or a workflow',
    );
  }
  if (role['workflow'] !== undefined) checkName(role['workflow']);
  if (role['compact'] !== undefined && role['compact'] !== true) {
    throw invalid(`${what}.compact`, 'must be true, or left out');
  }
  if (role['compact'] === true && role['workflow'] !== undefined) {
    throw invalid(what, 'must be a summary by a function or a command, not by a workflow');
  }
  if (role['schema'] !== undefined) checkSchema(role['schema'], `${what}.schema`);
  if (role['timeoutMs'] !== undefined) {
    checkWhole(role['timeoutMs'], `${what}.timeoutMs`, 1, TIMEOUT_MS_MAX);
  }
}

/** Checks that every role that is reached leads to an existing one. */
function checkTable(table: Readonly<Record<string, unknown>>, { roles }: Descriptor): void {
  if (table[START_ROLE] === undefined) throw invalid('table', `has no ${START_ROLE}`);
  for (const [from, rules] of Object.entries(table)) {
    if (from !== START_ROLE && !Object.hasOwn(roles, from)) {
      throw invalid('table', `has ${from}, which is no role`);
    }
    for (const to of targetsOf(from, rules)) {
      if (to === END_ROLE) continue;
      if (!Object.hasOwn(roles, to))
        throw invalid('table', `leads from ${from} to ${to}, which is no role`);
      if (!Object.hasOwn(table, to))
        throw invalid('table', `leads to ${to} and from there nowhere`);
    }
  }
}

function targetsOf(from: string, rules: unknown): readonly string[] {
  if (typeof rules === 'string') return [rules];
  if (!Array.isArray(rules) || rules.length === 0) {
    throw invalid('table', `has for ${from} no role and no list of {when, to}`);
  }
  return rules.map((rule: unknown) => {
    const { to } = asObject(rule, `table.${from}`, ['when', 'to']);
    if (typeof to === 'string') return to;
    throw invalid('table', `has a rule of ${from} without "to"`);
  });
}

function asObject(
  value: unknown,
  what: string,
  fields?: readonly string[],
): Record<string, unknown> {
  if (kindOf(value) !== 'object') throw invalid(what, `must be an object, got ${kindOf(value)}`);
  const object = value as Record<string, unknown>;
  const unknown = fields && Object.keys(object).find((name) => !fields.includes(name));
  if (unknown === undefined) return object;
  throw invalid(what, `has an unknown field ${unknown}; known are ${fields?.join(', ')}`);
}

function checkOptionalText(value: unknown, what: string): void {
  if (value === undefined || (typeof value === 'string' && value !== '')) return;
  throw invalid(what, 'must be a text that is not empty');
}
