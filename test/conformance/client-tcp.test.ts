import { ModelEngine } from '../../src/testing/model-engine.ts';
import { clientSuites } from '../support/client-suites.ts';

clientSuites('the model', 'tcp', async (opening = {}) => new ModelEngine(opening));
