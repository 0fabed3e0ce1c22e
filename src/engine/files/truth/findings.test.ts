import { describe, expect, it } from 'vitest';
import { Findings, type Found, staleIndex } from './check.ts';

const found: Found = { what: 'damaged', file: 'a', offset: 1, severity: 'lost', length: 2 };

describe('findings', () => {
  it('hold a problem once, also one that was set aside, and that one last', () => {
    const findings = new Findings(undefined, (problem) => problem.file === 'known');
    findings.add(found);
    findings.add({ ...found });
    findings.add({ ...found, file: 'known' });
    findings.add(staleIndex('wrong'));
    expect(findings.found.map(({ file }) => file)).toEqual(['a', 'index.db', 'known']);
  });

  it('count what they do not hold', () => {
    const findings = new Findings(undefined, () => false);
    for (let offset = 0; offset < 10_003; offset += 1) findings.add({ ...found, offset });
    expect(findings.found.length).toBe(10_000);
    expect(findings.more).toBe(3);
  });

  it('tell progress, never past the total', async () => {
    const told: number[][] = [];
    const findings = new Findings(
      (done, total) => told.push([done, total]),
      () => false,
    );
    findings.expectBytes(10_000_000);
    findings.read(5_000_000, 'blobs');
    findings.read(10, 'blobs');
    await findings.breathe(7_000_000, 'turns');
    expect(told).toEqual([
      [5_000_000, 10_000_000],
      [12_000_010, 12_000_010],
    ]);
  });
});
