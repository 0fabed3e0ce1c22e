// `npm start`: serves the store in ./.quipu. What follows `npm start --` goes to `quipu serve`.
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** Options of `quipu serve` that npm takes for its own when "--" is missing, as they stand in the environment. */
const TAKEN = ['demo', 'host', 'port', 'tcp_port', 'store', 'json', 'log_level'];

const taken = TAKEN.filter((name) => process.env[`npm_config_${name}`] !== undefined);
const main = fileURLToPath(new URL('../dist/cli/main.js', import.meta.url));
if (taken.length > 0) {
  const words = taken.map((name) => {
    const value = process.env[`npm_config_${name}`];
    return `--${name.replace('_', '-')}${value === 'true' ? '' : ` ${value}`}`;
  });
  process.stderr.write(
    `npm has kept ${words.join(' ')} for itself; type: npm start -- ${words.join(' ')}\n`,
  );
  process.exitCode = 2;
} else if (existsSync(main)) {
  // In this very process, so that a signal reaches the server and nobody in between.
  process.argv.splice(1, 1, main, 'serve', '--store', './.quipu');
  await import(main);
} else {
  process.stderr.write('the package is not built yet; type: npm run build\n');
  process.exitCode = 1;
}
