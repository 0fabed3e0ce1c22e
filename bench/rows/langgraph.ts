import type { Bench } from '../bench.ts';
import { ms, times } from './finding.ts';
import type { Row, RowResult } from './finding.ts';

const BYTES_MAX = 3e6;
/** 400 messages of this size are 400 KB. */
const payloadBytes = 1000;

export const langgraphRow: Row = {
  name: 'langgraph',
  about: 'checkpoints of LangGraph with a growing state, beside its SQLite and PostgreSQL savers',
  async run(bench: Bench): Promise<RowResult> {
    const { langgraphTurns: size } = bench.sizes;
    const found = await bench.inTurn(['langgraph'], { size, payloadBytes });
    const { quipuBytes = 0, quipuGrownBytes = 0, sqliteBytes = 0, postgresBytes = 0 } = found;
    const {
      quipuPutP50Ms = 0,
      relaxedPutP50Ms = 0,
      syncedPutP50Ms = 0,
      postgresPutP50Ms = 0,
      floorP50Ms = 0,
    } = found;
    const { quipuGetP50Ms = 0, relaxedGetP50Ms = 0, postgresGetP50Ms = 0 } = found;
    const put = quipuPutP50Ms / syncedPutP50Ms;
    const unsynced = quipuPutP50Ms / relaxedPutP50Ms;
    const get = quipuGetP50Ms / relaxedGetP50Ms;
    const mb = (bytes: number): string => `${(bytes / 1e6).toFixed(1)} MB`;
    return {
      findings: [
        {
          work: `bytes on disk: ${size} checkpoints of LangGraph, a list of ${size} messages`,
          answers: { quipu: mb(quipuBytes), sqlite: mb(sqliteBytes), postgres: mb(postgresBytes) },
          measured: `${mb(quipuGrownBytes)} more than an empty store`,
          must: '< 3 MB more',
          met: quipuGrownBytes < BYTES_MAX,
        },
        {
          work: 'put of a checkpoint of LangGraph, p50, both durable',
          answers: {
            quipu: ms(quipuPutP50Ms),
            'raw-file': ms(floorP50Ms),
            sqlite: ms(syncedPutP50Ms),
            postgres: ms(postgresPutP50Ms),
          },
          measured: times(put),
          must: '<= 1x',
          met: put <= 1,
        },
        {
          work: 'put of a checkpoint of LangGraph, p50, SQLite without a sync as its saver has it',
          answers: { quipu: ms(quipuPutP50Ms), sqlite: ms(relaxedPutP50Ms) },
          measured: times(unsynced),
          must: '',
          met: undefined,
        },
        {
          work: 'get of the newest checkpoint of LangGraph, p50',
          answers: {
            quipu: ms(quipuGetP50Ms),
            sqlite: ms(relaxedGetP50Ms),
            postgres: ms(postgresGetP50Ms),
          },
          measured: times(get),
          must: '<= 1x',
          met: get <= 1,
        },
      ],
    };
  },
};
