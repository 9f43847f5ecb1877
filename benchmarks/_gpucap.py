import sys, os, time, json, dataclasses, importlib.util, traceback
sys.path.insert(0, '/tmp/kw')
import torch
from pathlib import Path
from workers.referee.drafting import capture, drafting
from workers.referee.drafting.graph import *
from workers.referee.drafting.module import written
out = Path(os.environ.get('OUT','/tmp/out')); out.mkdir(exist_ok=True)
for p in sorted(Path('/tmp/kw/benchmarks/problems/drafts').glob('gpu_*.py')):
    spec = importlib.util.spec_from_file_location('p', p); m = importlib.util.module_from_spec(spec); spec.loader.exec_module(m)
    t=time.time()
    try:
        with torch.device('cuda'):
            model = m.Model(*m.get_init_inputs()); x = m.get_inputs()
        for dyn in (False, True):
            try:
                g = capture.capture(model, x, dynamic=dyn)
                d = dataclasses.asdict(g)
                (out/f'{p.stem}_{"d" if dyn else "s"}.json').write_text(json.dumps(d))
                print(p.stem, dyn, 'configs', {k:[(c.blocks,c.warps,c.stages) for c in v[:1]] for k,v in g.configs.items()}, g.picked, round(time.time()-t,1), flush=True)
            except Exception as e: print(p.stem, dyn, repr(e)[:300], flush=True)
        del model, x; torch.cuda.empty_cache()
    except Exception: traceback.print_exc()
