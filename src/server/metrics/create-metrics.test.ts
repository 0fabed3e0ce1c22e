import { readFileSync } from 'node:fs';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createStore } from '../../store/create-store.ts';
import { ModelEngine } from '../../testing/model-engine.ts';
import { createMetrics } from './create-metrics.ts';

function open(): {
  store: ReturnType<typeof createStore>;
  metrics: ReturnType<typeof createMetrics>;
} {
  const engine = new ModelEngine();
  const store = createStore(engine);
  const metrics = createMetrics({ served: { engine, store } });
  onTestFinished(async () => {
    metrics.close();
    await store.close();
  });
  return { store, metrics };
}

describe('metrics', () => {
  it('count what is committed and what both protocols do', async () => {
    const { store, metrics } = open();
    const { id } = await store.contexts.create();
    await store.contexts.append(id, { type: 'note', payload: 'x', encoding: 'text' });
    const session = { id: 1n, remote: '', identity: undefined, tag: '' };
    const { binaryHooks: hooks } = metrics;
    hooks.opened?.(session);
    hooks.opened?.(session);
    hooks.closed?.(session);
    hooks.received?.(10);
    const answer = { session, ms: 3, bytesIn: 1, bytesOut: 1 };
    hooks.answered?.({ ...answer, message: 'APPEND_TURN', code: 0 });
    hooks.answered?.({ ...answer, message: 'APPEND_TURN', code: 404 });
    metrics.upkeep('gc', 2000, true);
    const text = await metrics.text();
    hooks.received?.(5);
    const later = await metrics.text();
    expect(later).toContain('quipu_network_bytes_total{protocol="binary",direction="in"} 15\n');
    expect(later).toContain('quipu_records_total{record="turn"} 1\n');
    for (const line of [
      'quipu_records_total{record="turn"} 1',
      'quipu_payload_bytes_total 1',
      'quipu_connections{protocol="binary"} 1',
      'quipu_network_bytes_total{protocol="binary",direction="in"} 10',
      'quipu_request_duration_seconds_count{protocol="binary",kind="APPEND_TURN"} 2',
      'quipu_request_duration_seconds_bucket{le="0.005",protocol="binary",kind="APPEND_TURN"} 2',
      'quipu_request_failures_total{protocol="binary",kind="APPEND_TURN"} 1',
      'quipu_upkeep_duration_seconds_count{task="gc",result="done"} 1',
      'quipu_contexts 1',
    ]) {
      expect(text).toContain(`${line}\n`);
    }
  });

  it('are all documented, and nothing else is', async () => {
    const text = await open().metrics.text();
    const names = [...text.matchAll(/^# TYPE (\S+)/gm)].map(([, name]) => name);
    const url = new URL('../../../docs/reference/metrics.md', import.meta.url);
    const rows = [...readFileSync(url, 'utf8').matchAll(/^\| `(quipu_\w+)` \|/gm)];
    expect(new Set(rows.map(([, name]) => name))).toEqual(new Set(names));
  });
});
