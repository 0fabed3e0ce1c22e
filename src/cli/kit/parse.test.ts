import { describe, expect, it } from 'vitest';
import { parseContext, parseDuration, parseSize, parseTurnIdOrNone } from './parse.ts';

describe('parseContext', () => {
  it.each([
    ['42', 42n],
    ['fix-the-parser', { name: 'fix-the-parser' }],
    ['@fix-the-parser', { name: 'fix-the-parser' }],
    ['@42', { name: '42' }],
    ['über/7', { name: 'über/7' }],
    ['@4 of 5', { name: '4 of 5' }],
  ])('reads %j', (text, context) => {
    expect(parseContext(text)).toEqual(context);
  });

  it.each(['', '4 of 5', '-1', '.x', '12345678901234567890'])('refuses %j', (text) => {
    expect(() => parseContext(text)).toThrow('Expected the id of a context');
  });
});

it('a turn or none is told as such', () => {
  expect(parseTurnIdOrNone('0')).toBe(0n);
  expect(() => parseTurnIdOrNone('none')).toThrow('such as 42, or 0 for none.');
});

describe('parseDuration', () => {
  it.each([
    ['0', 0],
    ['0s', 0],
    ['250ms', 250],
    ['10m', 600_000],
    ['1.5h', 5_400_000],
    ['90d', 7_776_000_000],
    ['2w', 1_209_600_000],
  ])('reads %s as %d ms', (text, ms) => {
    expect(parseDuration(text)).toBe(ms);
  });

  it.each(['', '10', 'm', '10 m', '10x', '-1d', '1d2h', '1e3s'])('refuses %j', (text) => {
    expect(() => parseDuration(text)).toThrow('Expected a time');
  });
});

describe('parseSize', () => {
  it.each([
    ['0', 0],
    ['1024', 1024],
    ['2GB', 2_000_000_000],
    ['2 gb', 2_000_000_000],
    ['512MiB', 536_870_912],
    ['1.5kB', 1500],
  ])('reads %s as %d bytes', (text, bytes) => {
    expect(parseSize(text)).toBe(bytes);
  });

  it.each(['', 'GB', '2XB', '-1', '1e9', '0x10'])('refuses %j', (text) => {
    expect(() => parseSize(text)).toThrow('Expected a size');
  });
});
