import { it } from 'vitest';
import { explore } from './explore.ts';
for (const seed of (process.env['SEEDS'] ?? '1').split(',').map(Number)) {
it('explores '+seed, async () => {
  const t=performance.now();
  const c = await explore({ seed, steps: Number(process.env['STEPS'] ?? 40), kills: Number(process.env['KILLS'] ?? 0), statesPerPoint: Number(process.env['SPP'] ?? 8), nestedPerPoint: 4 });
  console.log(seed, c, performance.now()-t);
}, 600000);
}
