import { Agent, Runner, Usage, handoff, tool } from '@openai/agents-core';
import type {
  AgentInputItem,
  Model,
  ModelRequest,
  ModelResponse,
  Session,
  StreamEvent,
} from '@openai/agents-core';
import { z } from 'zod';

export const assistant = (text: string): ModelResponse['output'][number] => ({
  type: 'message',
  role: 'assistant',
  status: 'completed',
  content: [{ type: 'output_text', text }],
});

export const call = (
  name: string,
  callId: string,
  args: string,
): ModelResponse['output'][number] => ({
  type: 'function_call',
  name,
  callId,
  status: 'completed',
  arguments: args,
});

/** Says what its script says, and notes what it was asked. */
export class ScriptedModel implements Model {
  readonly requests: ModelRequest[] = [];
  readonly #script: ModelResponse['output'][];

  constructor(script: ModelResponse['output'][]) {
    this.#script = script;
  }

  getResponse(request: ModelRequest): Promise<ModelResponse> {
    this.requests.push(request);
    const output = this.#script.shift();
    if (output === undefined) throw new Error('the script has ended');
    return Promise.resolve({ usage: new Usage(), output });
  }

  async *getStreamedResponse(request: ModelRequest): AsyncGenerator<StreamEvent> {
    const { output } = await this.getResponse(request);
    const usage = { inputTokens: 0, outputTokens: 0, totalTokens: 0 };
    const response = { id: 'r', usage, output };
    yield { type: 'response_done', response } as StreamEvent;
  }
}

export const runner: Runner = new Runner({ tracingDisabled: true });

/** Runs agents with a tool and a hand-off over `session`, twice, the second time as a stream. */
export async function useSdk(
  session: Session,
): Promise<{ outputs: unknown[]; asked: unknown[]; items: AgentInputItem[] }> {
  const model = new ScriptedModel([
    [call('weather', 'c1', '{"city":"Lima"}')],
    [call('transfer_to_Writer', 'c2', '{}')],
    [assistant('Dear all, Lima is dry.')],
    [call('weather', 'c3', '{"city":"Cusco"}')],
    [assistant('Cusco is dry, too.')],
  ]);
  const weather = tool({
    name: 'weather',
    description: 'The weather of a city.',
    parameters: z.object({ city: z.string() }),
    execute: ({ city }) => `${city}: dry`,
  });
  const writer = new Agent({ name: 'Writer', model, tools: [weather] });
  const first = new Agent({ name: 'First', model, tools: [weather], handoffs: [handoff(writer)] });
  const one = await runner.run(first, 'How is Lima? Write a letter.', { session });
  const two = await runner.run(writer, 'And Cusco?', { session, stream: true });
  await two.completed;
  return {
    outputs: [one.finalOutput, one.lastAgent?.name, two.finalOutput],
    asked: model.requests.map(({ input }) => input),
    items: await session.getItems(),
  };
}
