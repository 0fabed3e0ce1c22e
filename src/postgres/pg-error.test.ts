import { describe, expect, it } from 'vitest';
import { failureOf, toPgError } from './pg-error.ts';
import { nameOfPlace, parseAddress } from './address.ts';

const AT = { name: 'postgres://host/db', statementMs: 5 };
const coded = (code: string): Error => Object.assign(new Error('said'), { code });

describe('toPgError', () => {
  it.each([
    ['57P01', 'UNAVAILABLE'],
    ['ECONNREFUSED', 'UNAVAILABLE'],
    ['40001', 'UNAVAILABLE'],
    ['57014', 'TIMEOUT'],
    ['25006', 'READ_ONLY'],
    ['28P01', 'UNAUTHORIZED'],
    ['42501', 'FORBIDDEN'],
    ['3D000', 'NOT_FOUND'],
    ['53100', 'DISK_FULL'],
    ['22021', 'INVALID'],
    ['XX001', 'CORRUPT'],
    ['42601', 'IO'],
  ])('gives %s the code %s', (code, expected) => {
    expect(toPgError(coded(code), AT)).toMatchObject({ code: expected });
  });

  it.each([
    ['08P01', 'unsupported startup parameter: options', /ignore_startup_parameters/],
    ['08P01', 'no such database: x', /settings of the pooler/],
    ['26000', 'prepared statement "x" does not exist', /max_prepared_statements/],
  ])('says at once what a pooler refuses with %s: %s', (code, message, advice) => {
    const error = Object.assign(new Error(message), { code });
    expect(failureOf(error)).toBe('refused');
    expect(toPgError(error, AT)).toMatchObject({
      code: 'UNSUPPORTED',
      data: { what: 'pooler', found: message },
      message: expect.stringMatching(advice) as unknown,
    });
  });

  it('waits for what a pooler says of a server that is away', () => {
    const error = Object.assign(new Error('server conn crashed?'), { code: '08P01' });
    expect(failureOf(error)).toBe('lost');
  });

  it('leaves alone what does not come from the database', () => {
    const bug = new TypeError('no');
    expect(toPgError(bug, AT)).toBe(bug);
  });

  it('tells what may be tried again from what may not', () => {
    expect(failureOf(coded('40P01'))).toBe('conflict');
    expect(failureOf(new Error('Connection terminated unexpectedly'))).toBe('lost');
    expect(failureOf(coded('23505'))).toBe('refused');
  });
});

describe('parseAddress', () => {
  it('keeps the password out of the name', () => {
    const { name, schema, connection } = parseAddress('postgres://me:secret@host:5/db?schema=mine');
    expect({ name, schema }).toEqual({ name: 'postgres://host:5/db?schema=mine', schema: 'mine' });
    expect(connection).toBe('postgres://me:secret@host:5/db');
    expect(nameOfPlace('postgresql://me:secret@host/db')).toBe('postgres://host/db');
    expect(nameOfPlace('./folder')).toBe('./folder');
  });

  it('refuses a schema that would need quotes', () => {
    expect(() => parseAddress('postgres://host/db?schema=a"b')).toThrow(/lower-case/);
    expect(() => parseAddress(`postgres://host/db?schema=${'a'.repeat(58)}`)).toThrow(/57/);
  });

  it('refuses a schema of the database itself', () => {
    for (const schema of ['pg_catalog', 'pg_mine', 'information_schema']) {
      const parse = (): unknown => parseAddress(`postgres://host/db?schema=${schema}`);
      expect(parse).toThrow(/keeps for itself/);
    }
  });
});
