"""Device driver, for trial."""

import sys, time, os, json
import numpy as np, torch
from studies import _batched as b
from studies._settings import *
from studies._populations import populations

DEV = "cuda" if torch.cuda.is_available() else "cpu"
F = torch.float64


def grid_np(N):
    from fractions import Fraction as Fr

    pts = {Fr(t, N + 1) for t in range(1, N + 1)} | {Fr(1, 2)}
    for d in (5, 10, 20, 30, 50, 75):
        pts |= {Fr(1, 2) + Fr(d, 10000), Fr(1, 2) - Fr(d, 10000)}
    s = np.array([float(x) for x in sorted(pts)])
    e = np.r_[0, s, 1]
    return s, (e[2:] - e[:-2]) / 2


G, OM = (torch.tensor(x, dtype=F, device=DEV) for x in grid_np(99))


def keeps(counts, a):
    counts = np.asarray(counts, float)
    k = len(counts)
    h = np.array([2 / (1 / counts[i] + 1 / counts[j]) for i in range(k) for j in range(k) if i != j])
    return torch.tensor(h / (h + a), dtype=F, device=DEV)


def strata_of(y, groups):
    if groups is None:
        return np.arange(len(y)), y
    u = groups
    nu = u.max() + 1
    lo = np.full(nu, 99)
    hi = np.full(nu, -1)
    np.minimum.at(lo, u, y)
    np.maximum.at(hi, u, y)
    return u, (lo if np.array_equal(lo, hi) else np.zeros(nu, int))


def draw_weights(unit, stratum, B, R, gen):
    nu = len(stratum)
    W = torch.zeros((B * R, nu), dtype=F, device=DEV)
    for s in np.unique(stratum):
        mem = torch.tensor(np.flatnonzero(stratum == s), device=DEV)
        u = len(mem)
        d = max(u - 1, 1)
        idx = mem[torch.randint(u, (B * R, d), generator=gen, device=DEV)]
        W.scatter_add_(1, idx, torch.ones(idx.shape, dtype=F, device=DEV))
    return W[:, torch.tensor(unit, device=DEV)].reshape(B, R, -1)


def fitD(tpr, keep):
    f = b.fit_rank_one(tpr, G, OM, keep)
    fpr, tp = b.curves(f.row)
    return b.gaps_under(fpr, tp), f.converged, f.row


def truth(setting, seed):
    if setting.population:
        codes, scores = populations()[setting.population]
    else:
        n = 1_000_000 // setting.n_classes
        codes, scores, _ = draw(setting, np.random.default_rng([seed, 1]), (n,) * setting.n_classes)
    y = torch.tensor(codes, device=DEV)
    S = torch.tensor(scores, dtype=F, device=DEV)[None]
    pairs = b.ordered_pairs(y, S)
    w = torch.ones(1, 1, len(y), dtype=F, device=DEV)
    tpr, ar = b.rates_and_areas(pairs, w, G)
    c = np.bincount(codes)
    out = {}
    for a in (0.0, 0.01, 1.0):
        g, conv, row = fitD(tpr[:, 0], keeps(c, a))
        out[a] = (g.item(), bool(conv.item()), row)
    M = 1 - ar.mean().item()
    a = 0.0 if out[0.0][1] else 0.01
    mean = tpr[0, 0].mean(1)
    return out[a][0], M, {x: (v[0], v[1]) for x, v in out.items()}, out[a][2], mean


ROOM = 2 * torch.minimum(G, 1 - G)
NB = 250


def heights(row):
    """TPR - FPR at the lines of the grid as a place in [0, 1]."""
    fpr, tpr = b.curves(row)
    x = ((fpr + tpr) / 2).contiguous()
    y = tpr - fpr
    w = G.expand(*x.shape[:-1], len(G)).contiguous()
    i = torch.searchsorted(x, w).clamp(1, x.shape[-1] - 1)
    x0, x1 = torch.gather(x, -1, i - 1), torch.gather(x, -1, i)
    y0, y1 = torch.gather(y, -1, i - 1), torch.gather(y, -1, i)
    h = y0 + (y1 - y0) * (w - x0) / (x1 - x0).clamp(min=1e-300)
    return (1 + h / ROOM) / 2


def bandinfo(pre, place, rep, R):
    mean = rep.mean(1)
    sd = rep.std(1)
    z = torch.where(sd[:, None] > 1e-9, (rep - mean[:, None]).abs() / sd.clamp(min=1e-9)[:, None], 0.0)
    sup = torch.quantile(z.max(2).values, 0.95, dim=1)
    zmid = torch.quantile(z[:, :, 10:-10].max(2).values, 0.95, dim=1)
    lgr = torch.logit(rep.clamp(1e-4, 1 - 1e-4))
    sl = lgr.std(1)
    zl = torch.where(sl[:, None] > 1e-6, (lgr - lgr.mean(1, True)).abs() / sl.clamp(min=1e-6)[:, None], 0.0)
    supl = torch.quantile(zl.max(2).values, 0.95, dim=1)
    return {
        pre + "_place": place.float(),
        pre + "_mean": mean.float(),
        pre + "_sd": sd.float(),
        pre + "_sup": sup,
        pre + "_supmid": zmid,
        pre + "_supl": supl,
        pre + "_sl": sl.float(),
    }


def quant(g):
    return (torch.log(g.clamp(1e-13, 1)) / -30 * 65535).round().clamp(0, 65535).cpu().numpy().astype(np.uint16)


def simulate(setting, seed, N, R, budget=24e9):
    K = setting.n_classes * (setting.n_classes - 1)
    cell = 222 * K * 8 * 14
    B = max(1, int(budget // (cell * (R + 1))))
    B = min(B, N)
    gen = torch.Generator(device=DEV)
    gen.manual_seed(seed)
    res = {}
    keep1, keep0, keep001 = (keeps(setting.counts, a) for a in (1.0, 0.0, 0.01))
    for start in range(0, N, B):
        m = min(B, N - start)
        drawn = [draw(setting, np.random.default_rng([seed, 2, start + i])) for i in range(m)]
        y, _, groups = drawn[0]
        S = torch.tensor(np.array([d[1] for d in drawn]), dtype=F, device=DEV)
        codes = torch.tensor(y, device=DEV)
        pairs = b.ordered_pairs(codes, S)
        unit, stratum = strata_of(y, groups)
        w1 = torch.ones(m, 1, len(y), dtype=F, device=DEV, requires_grad=True)
        tpr, ar = b.rates_and_areas(pairs, w1, G)
        phi = torch.autograd.grad(ar.mean(2).sum(), w1)[0][:, 0]  # influence/n_c
        tpr = tpr.detach()[:, 0]
        M = 1 - ar.detach().mean(2)[:, 0]
        Vc, VVc, S3c = [], [], []
        for s in range(setting.n_classes):
            # per class; groups ignored
            n = int((y == s).sum())
            p = phi[:, codes == s] * n
            p = p - p.mean(1, True)
            m2 = (p**2).sum(1) / max(n - 1, 1)
            m4 = (p**4).mean(1)
            m3 = (p**3).mean(1)
            Vc.append(m2 / n)
            VVc.append(m4)
            S3c.append(m3)
        g1, _, row1 = fitD(tpr, keep1)
        g0, c0, row0 = fitD(tpr, keep0)
        W = draw_weights(unit, stratum, m, R, gen)
        ts, ars = b.rates_and_areas(pairs, W, G)
        meanr = ts.mean(3)
        gs, cs, rows = fitD(ts.reshape(m * R, len(G), K), keep1)
        del ts, W
        found = dict(
            gap=g1,
            M=M,
            gap0=g0,
            conv0=c0.double(),
            gapstar=quant(gs.reshape(m, R)),
            Msd=ars.mean(2).std(1),
            Mmean=1 - ars.mean(2).mean(1),
            Vc=torch.stack(Vc, 1),
            m4c=torch.stack(VVc, 1),
            m3c=torch.stack(S3c, 1),
            notconv=(~cs.reshape(m, R)).sum(1).double(),
        )
        if start < NB:
            h = min(m, NB - start)
            pl = heights(row1)[:h]
            p0 = heights(row0)[:h]
            rp = heights(rows.reshape(m, R, -1)[:h])
            found.update(bandinfo("b", pl, rp, R), b_unshrunk=p0)
            mp = (2 * tpr.mean(2) - 2 * G) / ROOM
            mp = ((1 + mp) / 2)[:h]
            mr = ((1 + (2 * meanr - 2 * G) / ROOM) / 2)[:h]
            found.update(bandinfo("m", mp, mr, R))
        for k, v in found.items():
            res.setdefault(k, []).append(v.cpu().numpy() if torch.is_tensor(v) else v)
        del ars
    return {k: np.concatenate(v) for k, v in res.items()}


ALL = COVERAGE + HARD + SEPARATED + EXTREME + REAL + GROUPED
if __name__ == "__main__":
    N, R = int(sys.argv[1]), int(sys.argv[2])
    only = sys.argv[3].split(",") if len(sys.argv) > 3 and sys.argv[3] else None
    out = os.environ.get("OUT", "/tmp/simout")
    os.makedirs(out, exist_ok=True)
    limit = float(os.environ.get("LIMIT", "530"))
    t0 = time.time()
    bundle = {}
    for num, s in enumerate(ALL):
        if only and str(num) not in only:
            continue
        if time.time() - t0 > limit:
            print("out of time before", num)
            break
        t = time.time()
        seed = 20261116 + num
        gt, Mt, allt, row, mean = truth(s, seed)
        t1 = time.time()
        r = simulate(s, seed, N if s.n_classes < 20 else N // 4, R)
        print(
            f"{num:2d} {s.name:42s} k={s.n_classes} n={s.n_samples} true gap {gt:.3g} M {Mt:.3g} {allt} truth {t1 - t:.1f}s sim {time.time() - t1:.1f}s; mean gap {r['gap'].mean():.3g} gap0 {r['gap0'].mean():.3g} conv0 {r['conv0'].mean():.2f} notconv {r['notconv'].sum():.0f}",
            flush=True,
        )
        bundle.setdefault(num // 4, {}).update(
            {
                f"{num}/{k}": v
                for k, v in dict(
                    r,
                    truth=gt,
                    Mtruth=Mt,
                    curve=heights(row)[0].cpu().numpy(),
                    mcurve=((1 + (2 * mean - 2 * G) / ROOM) / 2).cpu().numpy(),
                    G=G.cpu().numpy(),
                ).items()
            }
        )
        np.savez_compressed(f"{out}/part{num // 4}.npz", **bundle[num // 4])
    print("total", time.time() - t0)
