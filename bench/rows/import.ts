import { figure } from '../bench.ts';
import type { Bench } from '../bench.ts';
import { megabytes } from './finding.ts';
import type { Row, RowResult } from './finding.ts';

export const importRow: Row = {
  name: 'import',
  about: 'sessions of an agent imported, and imported again',
  async run(bench: Bench): Promise<RowResult> {
    const { importBytes, importFiles } = bench.sizes;
    const rounds = await bench.once('import', ['quipu'], { size: importBytes, from: importFiles });
    const of = (name: string): number => figure(rounds, 'quipu', name);
    const rate = of('bytesIn') / 1e6 / of('seconds');
    const rss = of('rssBytes');
    const share = of('bytesStored') / of('bytesIn');
    const tree = `${megabytes(importBytes)} in ${importFiles} files`;
    return {
      findings: [
        {
          work: `import ${tree}`,
          answers: { quipu: `${rate.toFixed(1)} MB/s, peak RSS ${megabytes(rss)}` },
          measured: `${rate.toFixed(1)} MB/s`,
          must: '>= 25 MB/s, RSS < 400 MB',
          met: rate >= 25 && rss < 400e6,
        },
        {
          work: `import ${tree} again, unchanged`,
          answers: { quipu: `${of('againSeconds').toFixed(2)} s` },
          measured: `${of('againSeconds').toFixed(2)} s`,
          must: '< 1.5 s',
          met: of('againSeconds') < 1.5,
        },
        {
          work: `bytes stored of ${tree}`,
          answers: { quipu: megabytes(of('bytesStored')) },
          measured: `1/${(1 / share).toFixed(1)} of the files`,
          must: '<= 1/4 of the files',
          met: share <= 0.25,
        },
      ],
    };
  },
};
