import { relative } from 'node:path';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** By falling time. Started last, one of them would keep one worker busy while the other is done. */
const LONG = [
  'test/docs/shell-blocks.test.ts',
  'test/newer-node/suites.test.ts',
  'test/docs/verb-examples.test.ts',
  'test/crash/explore.test.ts',
  'test/service/host-history.test.ts',
  'test/crash/damage.test.ts',
  'test/health/gc-under-load.test.ts',
  'test/conformance/client-http.test.ts',
  'test/check.test.ts',
  'test/cli/quipu.test.ts',
  'test/conformance/client-unix.test.ts',
  'test/conformance/client-tls.test.ts',
  'test/health/backup-faults.test.ts',
  'test/conformance/client-tcp.test.ts',
  'test/workflow/suite.test.ts',
  'test/chat/suite.test.ts',
];

/** Of each project the long test files first, then as the runner would have it. */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const projects = new Map<string, TestSpecification[]>();
    for (const file of sorted) {
      const { name } = file.project;
      projects.set(name, [...(projects.get(name) ?? []), file]);
    }
    return [...projects.values()].flatMap((own) =>
      own.toSorted((a, b) => this.#rankOf(a) - this.#rankOf(b)),
    );
  }

  #rankOf({ moduleId }: TestSpecification): number {
    const rank = LONG.indexOf(relative(this.ctx.config.root, moduleId));
    return rank === -1 ? LONG.length : rank;
  }
}
