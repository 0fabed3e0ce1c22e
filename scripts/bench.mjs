// `npm run bench` and `npm run bench:peers`: compile the benchmarks with the sources they measure, then run them.
import { spawnSync } from 'node:child_process';
import { copyFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const inProject = (path) => fileURLToPath(new URL(`../${path}`, import.meta.url));

// Types that do not fit are shown and keep nothing from running: `npm run check` is what judges them.
const tsc = inProject('node_modules/typescript/bin/tsc');
spawnSync(process.execPath, [tsc, '-p', inProject('bench/tsconfig.json')], {
  stdio: ['ignore', process.stderr.fd, process.stderr.fd],
});

try {
  // Programs say their version.
  copyFileSync(inProject('package.json'), inProject('bench/dist/package.json'));
  const [which, ...rest] = process.argv.slice(2);
  const { main } = await (which === 'peers'
    ? import('../bench/dist/bench/peers/main.js')
    : import('../bench/dist/bench/main.js'));
  process.exitCode = await main(
    which === 'peers' ? rest : process.argv.slice(2),
    inProject('bench'),
  );
} catch (error) {
  console.error(`bench: ${error instanceof Error ? error.message : String(error)}`);
  process.exitCode = 2;
}
