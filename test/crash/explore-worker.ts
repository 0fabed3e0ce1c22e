// Explores crashes and tells what it met, as JSON. Run: node explore-worker.js <LivesOptions as JSON>
// It fails, and says where on stderr, at the first promise that is broken.
import { exploreLives, type LivesOptions } from './explore.ts';

const [options = '{}'] = process.argv.slice(2);
const count = await exploreLives(JSON.parse(options) as LivesOptions);
process.stdout.write(JSON.stringify(count));
