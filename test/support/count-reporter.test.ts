import { describe, expect, it } from 'vitest';
import { countTests, type CountedModule } from './count-reporter.ts';

function moduleOf(states: string[], moduleErrors = 0, suiteErrors: number[] = []): CountedModule {
  return {
    errors: () => Array.from({ length: moduleErrors }),
    children: {
      allTests: () => states.map((state) => ({ result: () => ({ state }) })),
      allSuites: () => suiteErrors.map((length) => ({ errors: () => Array.from({ length }) })),
    },
  };
}

describe('countTests', () => {
  it('adds up tests over modules and leaves out skipped ones', () => {
    const modules = [moduleOf(['passed', 'skipped', 'failed']), moduleOf(['passed', 'passed'])];
    expect(countTests(modules, 0)).toEqual({ passed: 3, failed: 1 });
  });

  it('counts a file that could not be loaded as failed', () => {
    expect(countTests([moduleOf([], 1)], 0)).toEqual({ passed: 0, failed: 1 });
  });

  it('counts a suite whose hooks failed', () => {
    expect(countTests([moduleOf(['skipped'], 0, [2, 0])], 0)).toEqual({ passed: 0, failed: 1 });
  });

  it('counts a test that never ended, and errors outside of tests', () => {
    expect(countTests([moduleOf(['pending', 'passed'])], 2)).toEqual({ passed: 1, failed: 3 });
  });
});
