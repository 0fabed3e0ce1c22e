import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { Answers } from '../api/answers.ts';
import { ask } from '../api/http.ts';
import { KeyValues, laneColour, Skeleton, Time, Trouble } from '../parts/basics.tsx';
import { scope } from '../state/app.ts';
import { bytes, count, plural } from '../state/format.ts';
import { useLoad } from '../state/load.ts';
import { Speed } from './speed.tsx';

type Stats = Answers['getStats'];

/** Health, disk, storage, records and speed of the store. */
export function StoreView(): JSX.Element {
  const stats = useLoad('store', (signal) => ask('getStats', {}, { signal }));
  const health = useLoad('health', (signal) => ask('health', {}, { signal }));
  if (stats.error !== undefined && stats.value === undefined) {
    return <Trouble error={stats.error} again={stats.again} />;
  }
  const { value } = stats;
  return (
    <main class="store">
      {value === undefined ? (
        <Skeleton rows={6} />
      ) : (
        <div class="panels">
          <Health stats={value} health={health.value} />
          <Disk stats={value} />
          <Storage stats={value} />
          <Speed />
          <Records stats={value} />
        </div>
      )}
    </main>
  );
}

function Health({
  stats,
  health,
}: {
  stats: Stats;
  health: Answers['health'] | undefined;
}): JSX.Element {
  const { engine, durability, journal, damage } = stats;
  return (
    <section>
      <h2>Health</h2>
      <KeyValues
        rows={[
          [
            'server',
            <Light good={health?.status === 'ok'}>
              {health === undefined ? '…' : `${health.status}, version ${health.version}`}
            </Light>,
          ],
          ['engine', `${engine}, ${durability === 'safe' ? 'every commit synced' : 'not synced'}`],
          journal === undefined
            ? undefined
            : [
                'journal',
                <Light good={!journal.broken}>
                  {journal.broken
                    ? 'broken: restart the server'
                    : `${plural(journal.frames, 'frame')} since the checkpoint`}
                </Light>,
              ],
          ['last backup', <LastBackup stats={stats} />],
          [
            'damage',
            <Light good={damage.length === 0}>
              {damage.length === 0 ? 'none known' : plural(damage.length, 'place')}
            </Light>,
          ],
        ]}
      />
      {damage.map((place) => (
        <p key={`${place.file}:${place.offset}`} class="bad">
          {place.file} at {place.offset}: {place.what}. Run <code>quipu verify --repair</code>.
        </p>
      ))}
      {scope.value === 'admin' && <Verify />}
    </section>
  );
}

function Light({ good, children }: { good: boolean; children: string }): JSX.Element {
  return (
    <span class={`light ${good ? 'good' : 'bad'}`}>
      <i aria-hidden="true" />
      <span>{children}</span>
    </span>
  );
}

function LastBackup({ stats: { engine, lastBackup } }: { stats: Stats }): JSX.Element {
  if (lastBackup !== undefined) return <Time at={lastBackup.at} />;
  if (engine === 'postgres') return <>by the database: pg_dump</>;
  return (
    <>
      never: <code>quipu backup &lt;folder&gt;</code>
    </>
  );
}

function Verify(): JSX.Element {
  const [result, setResult] = useState<{ text: string; good?: boolean }>({ text: '' });
  const run = async (): Promise<void> => {
    setResult({ text: 'Reading everything …' });
    try {
      const report = (await ask('verifyStore', {}, { body: {} })) as {
        ok: boolean;
        problems: readonly unknown[];
      };
      setResult({
        good: report.ok,
        text: report.ok ? 'Everything can be read.' : plural(report.problems.length, 'problem'),
      });
    } catch (error) {
      setResult({ text: (error as Error).message, good: false });
    }
  };
  return (
    <div class="acts">
      <button type="button" onClick={() => void run()}>
        Verify now
      </button>
      <span
        role="status"
        class={result.good === undefined ? 'muted' : result.good ? 'good' : 'bad'}
      >
        {result.text}
      </span>
    </div>
  );
}

const PARTS_SHOWN = 7;

/** What takes the room on disk: one bar, and a line for each part of it. */
function Disk({ stats: { disk, diskBytes } }: { stats: Stats }): JSX.Element {
  const rest = disk.slice(PARTS_SHOWN).reduce((sum, part) => sum + part.bytes, 0);
  const parts = [
    ...disk.slice(0, PARTS_SHOWN),
    ...(rest > 0 ? [{ part: 'everything else', bytes: rest }] : []),
  ];
  const share = (size: number): number => (100 * size) / Math.max(1, diskBytes);
  return (
    <section>
      <h2>On disk, {bytes(diskBytes)}</h2>
      <div class="bar thick" aria-hidden="true">
        {parts.map(({ part, bytes: size }, at) => (
          <i key={part} style={{ width: `${share(size)}%`, background: laneColour(at) }} />
        ))}
      </div>
      <ul class="legend">
        {parts.map(({ part, bytes: size }, at) => (
          <li key={part}>
            <i aria-hidden="true" style={{ background: laneColour(at) }} />
            <span>{part.replaceAll('_', ' ')}</span>
            <b>{bytes(size)}</b>
            <span class="muted">{share(size) < 1 ? '< 1' : Math.round(share(size))} %</span>
          </li>
        ))}
      </ul>
    </section>
  );
}

/** What sharing and compression leave of what was written. */
function Storage({ stats }: { stats: Stats }): JSX.Element {
  const rows = [
    ['written', stats.logicalBytes],
    ['after sharing', stats.blobBytes],
    ['compressed', stats.storedBytes],
  ] as const;
  const most = Math.max(1, ...rows.map(([, size]) => size));
  return (
    <section>
      <h2>Payloads</h2>
      <ul class="bars">
        {rows.map(([name, size], at) => (
          <li key={name}>
            <span>{name}</span>
            <span class="track">
              <i style={{ width: `${(100 * size) / most}%`, background: laneColour(at) }} />
            </span>
            <b>{bytes(size)}</b>
          </li>
        ))}
      </ul>
      <p class="muted">
        Equal payloads are kept once: {stats.sharingRatio.toFixed(1)} × less. Compression:{' '}
        {stats.compressionRatio.toFixed(1)} × less.
      </p>
    </section>
  );
}

function Records({ stats }: { stats: Stats }): JSX.Element {
  const rows = [
    ['turns', stats.turns],
    ['contexts', stats.contexts],
    ['blobs', stats.blobs],
    ['patches', stats.patches],
    ['logs', stats.logs],
    ['documents', stats.docs],
  ] as const;
  return (
    <section>
      <h2>Records</h2>
      <dl class="tiles">
        {rows.map(([name, value]) => (
          <div key={name}>
            <dd>{count(value)}</dd>
            <dt>{name}</dt>
          </div>
        ))}
      </dl>
    </section>
  );
}
