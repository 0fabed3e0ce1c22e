// `npm start`: serves the store in ./.quipu. What follows `npm start --` goes to `quipu serve`.
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const main = fileURLToPath(new URL('../dist/cli/main.js', import.meta.url));
if (!existsSync(main)) throw new Error('the package is not built yet; run: npm run build');

// In this very process, so that a signal reaches the server and nobody in between.
process.argv.splice(1, 1, main, 'serve', '--store', './.quipu');
await import(main);
