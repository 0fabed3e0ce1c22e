import { writeSync } from 'node:fs';
import type { Reporter, SerializedError, TestModule, TestRunEndReason } from 'vitest/node';

/** The parts of a test module that are counted; a literal in the test. */
export interface CountedModule {
  errors(): readonly unknown[];
  readonly children: {
    allTests(): Iterable<{ result(): { state: string } }>;
    allSuites(): Iterable<{ errors(): readonly unknown[] }>;
  };
}

export interface Counts {
  readonly passed: number;
  readonly failed: number;
}

/** A file or suite that could not run counts as one failure: its tests were never asked. */
export function countTests(modules: Iterable<CountedModule>, strayErrors: number): Counts {
  let passed = 0;
  let failed = strayErrors;
  for (const module of modules) {
    if (module.errors().length > 0) failed += 1;
    for (const suite of module.children.allSuites()) if (suite.errors().length > 0) failed += 1;
    for (const test of module.children.allTests()) {
      const { state } = test.result();
      if (state === 'passed') passed += 1;
      else if (state !== 'skipped') failed += 1;
    }
  }
  return { passed, failed };
}

/** Prints `N passed, N failed` as the very last line, after everything other reporters say. */
export class CountReporter implements Reporter {
  #counts: Counts | undefined;

  onInit(): void {
    process.once('exit', () => {
      // A run that ended before its modules were reported is a failure, not an empty success.
      const { passed, failed } = this.#counts ?? { passed: 0, failed: 1 };
      if (failed > 0 && process.exitCode === undefined) process.exitCode = 1;
      writeSync(1, `\n${passed} passed, ${failed} failed\n`);
    });
  }

  onTestRunEnd(
    modules: readonly TestModule[],
    errors: readonly SerializedError[],
    reason: TestRunEndReason,
  ): void {
    const cut = reason === 'interrupted' || modules.length === 0 ? 1 : 0;
    this.#counts = countTests(modules, errors.length + cut);
  }
}
